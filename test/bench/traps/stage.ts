import { migrationsDirectory } from '../../../functions/migrate/directory.ts';
import { migrate } from '../../../functions/migrate/runner.ts';
import type { Db } from '../../../functions/queue/db.ts';
import { openClient } from '../../support/database.ts';
import { pinHorizon } from '../soak/pin.ts';
import { finished } from './lay.ts';
import { otherTimes, quietMinute, type Trap } from './traps.ts';

/** No trap at all, for comparison: a queue that has done its first thousand jobs, so that no index is a single page. */
export const nothing: Trap = {
  name: 'empty',
  what: () => 'nothing: an empty queue',
  rows: 1000,
  quickRows: 1000,
  lay: finished,
};

/** Makes an empty database one that traps are laid in, or a template for such. */
export async function prepare(databaseUrl: string): Promise<void> {
  const client = await openClient(databaseUrl);
  try {
    await migrate(client, { directory: migrationsDirectory() });
    // Statistics, and the rows that are gone, are as the trap says: nothing comes in between.
    for (const table of await tables(client))
      await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  } finally {
    await client.end();
  }
}

/** Lays a trap in a prepared database. Resolves what lets go of what it holds open there. */
export async function lay(databaseUrl: string, trap: Trap, rows: number): Promise<() => Promise<void>> {
  const client = await openClient(databaseUrl);
  let letGo = async () => {};
  try {
    if (trap.statistics === 'stale') await otherTimes(client);
    if (trap.statistics === 'empty') await quietMinute(client);
    if (trap.pinned) letGo = await pinHorizon(databaseUrl);
    await trap.lay(client, rows);
    if (trap.statistics === undefined) await client.query(`VACUUM ANALYZE ${(await tables(client)).join(', ')}`);
    return letGo;
  } catch (error) {
    await letGo();
    throw error;
  } finally {
    await client.end();
  }
}

async function tables(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'millrace'::regnamespace AND relkind = 'r'`,
  );
  return rows.map(({ name }) => name);
}
