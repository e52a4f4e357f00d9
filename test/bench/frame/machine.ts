import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, release, tmpdir, totalmem, type } from 'node:os';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/** What the figures were measured on. */
export async function machine(): Promise<Record<string, string>> {
  const [processor] = cpus();
  return {
    cpu: processor?.model.trim() || 'unknown',
    cores: String(availableParallelism()),
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: `${type()} ${release()}`,
    disk: await disk(tmpdir()),
    node: process.version,
  };
}

/** The file system that has the data. */
async function disk(folder: string): Promise<string> {
  const { stdout } = await exec('df', ['--output=source,fstype', folder]).catch(() => ({ stdout: '' }));
  const [source = 'unknown', kind = 'unknown'] = stdout.trim().split('\n').at(-1)?.trim().split(/\s+/) ?? [];
  const { blocks, bsize } = await statfs(folder);
  return `${source} (${kind}), ${Math.round((blocks * bsize) / 2 ** 30)} GiB`;
}
