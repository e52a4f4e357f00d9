import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type RuntimeInfo, readRuntimeFile } from '../runtime-file.ts';

/** Seconds that a runtime of the demo's own gets to drain before it is killed. */
const STOP_SECONDS = 30;
const LINES_KEPT = 200;

export interface Host {
  /** How to reach it, and its workers, as they are now. @throws Error when it is gone */
  info(): Promise<RuntimeInfo>;
  /** It was started for this demo alone. */
  readonly own: boolean;
  /** The last lines that a runtime of the demo's own wrote, for when something went wrong. */
  readonly lines: readonly string[];
  /** Stops a runtime of the demo's own; leaves another as it is. */
  stop(): Promise<void>;
}

/**
 * The runtime that is up in `dataDirectory`, or else a fresh one with `env` on top of this environment.
 * @throws Error with what the fresh one said when it cannot start
 */
export async function findOrStart(
  dataDirectory: string,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Host> {
  const info = async () => {
    const found = await readRuntimeFile(dataDirectory);
    if (found === undefined)
      throw new Error('The runtime is gone: start it again with npm start, or let the demo start its own.');
    return found;
  };
  if (await readRuntimeFile(dataDirectory)) return { info, own: false, lines: [], stop: async () => {} };

  // A process group of its own: Ctrl-C reaches the demo alone, which then stops the runtime.
  const child = fork(fileURLToPath(new URL('../../bin/local.ts', import.meta.url)), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    if (input) createInterface({ input }).on('line', (line) => lines.splice(0, lines.push(line) - LINES_KEPT));
  }
  const stop = () => stopped(child);
  signal.addEventListener('abort', () => void stop(), { once: true });
  await ready(child, lines);
  return { info, own: true, lines, stop };
}

function ready(child: ChildProcess, lines: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('error', reject);
    child.once('close', () => reject(new Error(lines.join('\n'))));
  });
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_SECONDS * 1000);
  await closed;
  clearTimeout(timer);
}
