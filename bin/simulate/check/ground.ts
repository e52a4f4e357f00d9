import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrationsDirectory } from '../../../functions/migrate/directory.ts';
import { migrate } from '../../../functions/migrate/runner.ts';
import { startPostgres } from '../../../local/postgres.ts';

/** A migrated database that nobody else uses. */
export interface Ground {
  readonly url: string;
  /** Nothing is left of what was done. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

/** A Postgres of its own, that is gone afterwards. */
export async function prepareGround(): Promise<Ground> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-simulate-'));
  const server = await startPostgres({ directory });
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await migrate(client, { directory: migrationsDirectory() });
  return {
    url: server.url,
    empty: async () => {
      await client.query(
        'TRUNCATE millrace.live_jobs, millrace.finished_jobs, millrace.dead_jobs, millrace.payloads, millrace.claim_marks, millrace.slots, millrace.wakes',
      );
    },
    close: async () => {
      await client.end();
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
