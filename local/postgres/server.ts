import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { serverEnvironment } from './data.ts';
import { explain, PostgresStartError } from './errors.ts';

const MAX_LOG_BYTES = 10 * 1024 * 1024;
/** Recovery after a crash counts. */
const START_SECONDS = 60;

export interface ServerOptions {
  readonly directory: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Starts the postmaster and resolves when it takes connections. */
export async function launch(options: ServerOptions, { postgres }: Binaries, account: Account): Promise<ChildProcess> {
  const data = join(options.directory, 'data');
  const log = join(options.directory, 'postgres.log');
  if (((await stat(log).catch(() => undefined))?.size ?? 0) > MAX_LOG_BYTES) await rename(log, `${log}.1`);
  const output = await open(log, 'a', 0o600);
  const { size } = await output.stat();
  const settings = { ...options.settings, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(postgres, ['-D', data, '-p', String(options.port), ...flags], {
    ...account,
    cwd: data,
    env: serverEnvironment(),
    // A session of its own: Ctrl-C in the terminal must reach us, who drain first, and not the server.
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
  });
  const failed = once(server, 'error').then(([error]) => error as Error);
  await output.close();
  const said = async () => (await readFile(log)).subarray(size).toString();
  const error = await Promise.race([ready(server, data), failed]);
  if (error === undefined) return server;
  await halt(server);
  if (error instanceof PostgresStartError) throw error;
  throw explain(options.directory, (await said()) || error.message, error);
}

/** Resolves nothing when the server is ready, else why it is not. */
async function ready(server: ChildProcess, data: string): Promise<Error | undefined> {
  const deadline = Date.now() + START_SECONDS * 1000;
  while (Date.now() < deadline) {
    if (hasEnded(server))
      return new Error(`the server ended with ${server.signalCode ?? `exit code ${server.exitCode}`}`);
    // Line 1 is the server's pid, line 8 its state.
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
    if (Number(lines[0]) === server.pid && lines[7]?.trim() === 'ready') return undefined;
    await sleep(20);
  }
  return new PostgresStartError(
    'timeout',
    `Postgres was not ready after ${START_SECONDS} s; postgres.log beside ${data} says what it does. ` +
      'After a crash it reads its log first: start it again, and it goes on from there.',
  );
}

/** Fast shutdown; what does not end in 15 s is shut down without a checkpoint, then killed. Leaves no process. */
export async function halt(server: ChildProcess): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', 15_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    if (hasEnded(server) || server.pid === undefined) return;
    server.kill(signal);
    const deadline = Date.now() + patienceMs;
    while (!hasEnded(server) && Date.now() < deadline) await sleep(10);
  }
}

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

/**
 * Shuts the server down when this process ends in any way, `kill -9` too: a shell waits for the end of a pipe that only we
 * hold open. Resolves what calls it off.
 */
export function guard(server: ChildProcess, account: Account): () => void {
  if (process.platform === 'win32') return () => {};
  const script = 'read -r line || kill -INT "$1"';
  const shell = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid)], {
    ...account,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return () => shell.stdin.end('\n');
}

/** Free a moment ago. Somebody may take it before the server does, so the caller tries again. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
