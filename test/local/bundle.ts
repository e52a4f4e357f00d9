import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sandboxEnvironment } from '../../local/environment.ts';
import type { LocalFunction } from '../../local/function.ts';

/** A folder that is gone when the test is over. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-local-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  // As root, Postgres runs as somebody else, who must get in.
  await chmod(directory, 0o755);
  return directory;
}

/** A function whose bundle is `source`, an ES module that exports `handler`. */
export async function functionOf(source: string, over: Partial<LocalFunction> = {}): Promise<LocalFunction> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'index.mjs'), source);
  const fn = { name: 'Tested', directory, memoryMegabytes: 128 };
  return {
    ...fn,
    handler: 'index.handler',
    timeoutSeconds: 5,
    environment: sandboxEnvironment(
      { ...fn, variables: {} },
      { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      {},
    ),
    ...over,
  };
}

/** Whether a process of that id is there (and no zombie). */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
