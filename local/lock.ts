import { join } from 'node:path';
import { takeLock } from './lock-file.ts';
import { StartError } from './start-error.ts';

/**
 * Makes this process the only runtime in `directory` until the returned function is called.
 * @throws StartError `already_running` naming the other's pid, or `not_writable`
 */
export async function lock(directory: string): Promise<() => Promise<void>> {
  return takeLock(join(directory, 'lock'), (pid) => alreadyRunning(directory, pid)).catch((cause: Error) => {
    if (cause instanceof StartError) throw cause;
    throw new StartError(
      'not_writable',
      `The folder for data cannot be written to (${cause.message}): make it writable.`,
      { cause },
    );
  });
}

function alreadyRunning(directory: string, pid: number): StartError {
  return new StartError(
    'already_running',
    `Millrace already runs in ${directory} (process ${pid}): use that one, or stop it with Ctrl-C in its terminal or kill ${pid}.`,
  );
}
