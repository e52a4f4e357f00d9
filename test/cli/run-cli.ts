import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin/millrace.ts', import.meta.url));

export interface CliOptions {
  /** All that it gets beside PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  /** What stands on stdin; default: nothing, and it is no terminal. */
  readonly input?: string;
  /** Default: a folder in which nothing runs. */
  readonly cwd?: string;
  /** On a terminal of that many columns, by `script` of util-linux: stdout then has what goes to stderr, too. */
  readonly columns?: number;
}

export interface Running {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves once stdout or stderr fit; rejects if it ends before that. */
  sees(pattern: RegExp): Promise<void>;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** `npx millrace …` as a process of its own, until the test is over. */
export function startCli(args: readonly string[], options: CliOptions = {}): Running {
  const child = spawned(args, options);
  const said = { stdout: '', stderr: '' };
  const heard = new EventTarget();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
      heard.dispatchEvent(new Event('text'));
    });
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const sees = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const look = () => (pattern.test(said.stdout) || pattern.test(said.stderr) ? resolve() : undefined);
      heard.addEventListener('text', look);
      void ended.then((code) =>
        reject(new Error(`ended with ${code} before ${pattern}: ${said.stderr}${said.stdout}`)),
      );
      look();
    });
  return { child, stdout: () => said.stdout, stderr: () => said.stderr, sees, ended };
}

/** The same to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}) {
  const { ended, stdout, stderr } = startCli(args, options);
  return { code: await ended, stdout: stdout(), stderr: stderr() };
}

function spawned(args: readonly string[], { env = {}, input, cwd = tmpdir(), columns }: CliOptions): ChildProcess {
  const whole = { PATH: process.env.PATH, HOME: process.env.HOME, ...env };
  const command = [process.execPath, BIN, ...args];
  const child =
    columns === undefined
      ? spawn(command[0] ?? '', command.slice(1), { cwd, env: whole })
      : spawn('script', ['-qec', `stty cols ${columns}; exec ${command.map(quoted).join(' ')}`, '/dev/null'], {
          cwd,
          env: { TERM: 'xterm', ...whole },
        });
  child.stdin?.on('error', () => {});
  child.stdin?.end(input ?? '');
  return child;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
