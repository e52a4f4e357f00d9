import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { besideThis } from './beside.ts';
import type { Ending, Invocation, LocalFunction, OnLine } from './function.ts';
import { INIT_SECONDS } from './init-seconds.ts';

export type ToProcess = Invocation;
export type FromProcess = 'loaded' | Ending;

/** One invocation in a process of its own, so that its timeout is a real kill. */
export interface RunningProcess {
  readonly pid: number;
  readonly ended: Promise<Ending>;
  /** SIGTERM, as Lambda sends it at a shutdown: the handler may drain; one that does not listen ends at once. */
  drain(): void;
  /** SIGKILL, for it and whatever it started. */
  kill(): void;
}

/** Starts `fn` with `event`. It is killed at the function's timeout, counted from when its bundle is loaded. */
export function startProcess(fn: LocalFunction, event: unknown, onLine: OnLine): RunningProcess {
  const child = fork(besideThis('sandbox-process-main'), [fn.directory, fn.handler], {
    env: { ...fn.environment },
    execArgv: ['--enable-source-maps', `--max-old-space-size=${Math.floor(fn.memoryMegabytes * 0.9)}`],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A process group of its own: Ctrl-C at the terminal is for the runtime alone, and a kill reaches grandchildren.
    detached: true,
  });
  const kill = () => killGroup(child);
  return {
    pid: child.pid ?? 0,
    ended: supervise(child, fn, event, onLine, kill),
    drain: () => child.kill('SIGTERM'),
    kill,
  };
}

async function supervise(
  child: ChildProcess,
  fn: LocalFunction,
  event: unknown,
  onLine: OnLine,
  kill: () => void,
): Promise<Ending> {
  let ending: Ending | undefined;
  const end = (how: Ending) => {
    ending ??= how;
    kill();
  };
  const notLoaded = { kind: 'died', how: `SIGKILL, since it was not loaded within ${INIT_SECONDS} s` } as const;
  let timer = setTimeout(end, INIT_SECONDS * 1000, notLoaded);
  child.on('message', (message: FromProcess) => {
    if (message !== 'loaded') {
      ending ??= message;
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(end, fn.timeoutSeconds * 1000, { kind: 'timed out' });
    const invocation: ToProcess = { event, requestId: randomUUID(), deadline: Date.now() + fn.timeoutSeconds * 1000 };
    // It may have died since; its exit tells.
    child.send(invocation, () => {});
  });
  for (const input of [child.stdout, child.stderr]) {
    if (input) createInterface({ input }).on('line', (line) => onLine(fn, line));
  }
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
  clearTimeout(timer);
  return ending ?? { kind: 'died', how };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
