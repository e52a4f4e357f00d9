import type pg from 'pg';
import { inject, test as plain } from 'vitest';
import { createDatabase, type Database } from './database.ts';

export { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, vi } from 'vitest';
export { openClient, openPool } from './database.ts';

/**
 * `db`: a pool on a migrated database that belongs to this test file, its tables empty when a test begins.
 * `databaseUrl`: the same database, for what opens its own connections.
 * `directUrl`: likewise, for what needs a session, in the project whose statements go through a pooler too.
 * `own`: another migrated database, of this test alone, for what changes more than rows.
 * Not for `test.concurrent`: the tests of a file share `db`.
 */
export const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('fileDatabase', { scope: 'file' }, async ({}, { onCleanup }) => {
    const database = await createDatabase(inject('serverUrl'), inject('templateName'), inject('poolerUrl'));
    onCleanup(() => database.drop());
    return database;
  })
  .extend('emptyDatabase', async ({ fileDatabase }) => {
    await empty(fileDatabase.pool);
    return fileDatabase;
  })
  .extend('db', async ({ emptyDatabase }) => emptyDatabase.pool)
  .extend('databaseUrl', async ({ emptyDatabase }) => emptyDatabase.url)
  .extend('directUrl', async ({ emptyDatabase }) => emptyDatabase.directUrl)
  // biome-ignore lint/correctness/noEmptyPattern: as above
  .extend('own', async ({}, { onCleanup }): Promise<Database> => {
    const database = await createDatabase(inject('serverUrl'), inject('templateName'), inject('poolerUrl'));
    onCleanup(() => database.drop());
    return database;
  });

/** TRUNCATE costs per table, so only the tables that were written to are named. */
async function empty(pool: pg.Pool): Promise<void> {
  await pool.query(`
    DO $$
    DECLARE
      written text;
    BEGIN
      -- A test that left a transaction open would make the next one hang here.
      SET LOCAL lock_timeout = '5s';
      SELECT string_agg(format('%s', c.oid::regclass), ', ')
      INTO written
      FROM pg_class c
      WHERE c.relnamespace = 'millrace'::regnamespace
        AND c.relkind = 'r'
        AND c.relname <> 'migrations'
        AND pg_relation_size(c.oid) > 0;
      IF written IS NOT NULL THEN
        EXECUTE 'TRUNCATE ' || written;
      END IF;
    END
    $$`);
}
