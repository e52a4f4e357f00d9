import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * When a process started, as text that only equals itself: a pid alone says little, since a container that restarts
 * gives the same numbers again. Undefined: there is no such process.
 */
export async function startOf(pid: number): Promise<string | undefined> {
  if (!Number.isInteger(pid) || pid < 1) return undefined;
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // Fields count from behind the command in parentheses, which may hold anything: state is 3, start time 22.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    return fields[0] === 'Z' ? undefined : fields[19];
  }
  const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout.trim() || undefined;
}
