import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Milliseconds that a command has to end by itself: SAM stops its containers first. */
const PATIENCE_MS = 20_000;
/** Characters of its output that are kept, to say why it failed. */
const KEPT = 10_000;
const WINDOWS = process.platform === 'win32';

export interface Command {
  /** Resolves when it has ended; `missing`: there is no such command. */
  readonly ended: Promise<{ readonly code: number | string; readonly missing: boolean; readonly output: string }>;
  /** As Ctrl-C does, and after 20 s by force. Resolves when it has ended. */
  interrupt(): Promise<void>;
  kill(): void;
}

export interface CommandOptions {
  readonly cwd: string;
  /** Beyond those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
  /** Interrupts it. */
  readonly signal?: AbortSignal;
}

/** Starts a command that the PATH knows. */
export function command(name: string, args: readonly string[], { cwd, env, onLine, signal }: CommandOptions): Command {
  const child = spawn(WINDOWS ? windowsLine(name, args) : name, WINDOWS ? [] : args, {
    cwd,
    env: { ...process.env, ...env },
    // On Windows sam is a script, which only a shell starts.
    shell: WINDOWS,
    // Elsewhere a group of its own: a Ctrl-C at the terminal is ours to answer. On Windows it reaches all of them.
    detached: !WINDOWS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      output = `${output}${line}\n`.slice(-KEPT);
      onLine?.(line);
    });
  }
  const ended = new Promise<{ code: number | string; missing: boolean; output: string }>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ code: error.message, missing: error.code === 'ENOENT', output }),
    );
    // 9009: what cmd.exe says of a command that it does not find.
    child.once('close', (code, signal) => resolve({ code: code ?? signal ?? '', missing: code === 9009, output }));
  });
  const interrupt = async () => {
    if (!WINDOWS) end(child, 'SIGINT');
    const timer = setTimeout(() => end(child, 'SIGKILL'), PATIENCE_MS);
    await ended;
    clearTimeout(timer);
  };
  signal?.addEventListener('abort', interrupt, { once: true });
  void ended.then(() => signal?.removeEventListener('abort', interrupt));
  return { ended, interrupt, kill: () => end(child, 'SIGKILL') };
}

/** A line for cmd.exe. What we pass are names and paths: there is no quote in them. */
export function windowsLine(name: string, args: readonly string[]): string {
  return [name, ...args].map((part) => (/^[\w.:=\\/-]+$/.test(part) ? part : `"${part}"`)).join(' ');
}

/** It, and what it has started. */
function end(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (WINDOWS) spawn('taskkill', ['/pid', String(child.pid), '/T', '/F']);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
