import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { startPostgres } from '../../local/postgres.ts';
import { openClient } from '../support/database.ts';

/** A migrated Postgres of its own, so that it can be ended and measured. */
export interface OwnServer {
  readonly url: string;
  /** As when the machine loses its power, but for the disk. */
  crash(): Promise<void>;
  /** As for a minor upgrade: it hangs up on everybody and writes down what it has. */
  shutDown(): Promise<void>;
  /** On the same port again. */
  start(): Promise<void>;
  /** For good. */
  remove(): Promise<void>;
}

export async function ownServer(options: {
  readonly package: string;
  readonly settings: Readonly<Record<string, string>>;
}): Promise<OwnServer> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-own-'));
  let running = await startPostgres({ directory, ...options });
  const { url } = running;
  const client = await openClient(url);
  await migrate(client, { directory: migrationsDirectory() }).finally(() => client.end());
  return {
    url,
    crash: async () => {
      process.kill(running.pid, 'SIGQUIT');
      await running.ended;
      await running.stop();
    },
    shutDown: () => running.stop(),
    start: async () => {
      running = await startPostgres({ directory, ...options, port: Number(new URL(url).port) });
    },
    remove: async () => {
      await running.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
