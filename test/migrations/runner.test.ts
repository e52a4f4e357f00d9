import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { MigrationBlockedError, MigrationFailedError } from '../../functions/migrate/errors.ts';
import { type MigrationProgress, migrate } from '../../functions/migrate/runner.ts';
import { createDatabase, type Database, openClient } from '../support/database.ts';
import { describe, expect, inject, test as plain } from '../support/fixtures.ts';

const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('blank', async ({}, { onCleanup }): Promise<Database> => {
    const database = await createDatabase(inject('serverUrl'));
    onCleanup(() => database.drop());
    return database;
  })
  // biome-ignore lint/correctness/noEmptyPattern: as above
  .extend('directory', async ({}, { onCleanup }) => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-migrations-'));
    onCleanup(() => rm(directory, { recursive: true }));
    return directory;
  });

const FILES = ['0001_a.sql', '0002_b.sql'];

async function twoFiles(directory: string): Promise<void> {
  await writeFile(join(directory, '0001_a.sql'), 'CREATE TABLE millrace.a (n int);\n');
  await writeFile(
    join(directory, '0002_b.sql'),
    'CREATE TABLE millrace.b (n int);\nINSERT INTO millrace.a VALUES (1);\n',
  );
}

async function tablesOf({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('millrace') AND relkind = 'r' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

describe('the repository’s migrations', () => {
  test('bring an empty database to the newest version, and find nothing to do after that', async ({ blank }) => {
    const files = (await readdir(migrationsDirectory())).filter((name) => name.endsWith('.sql')).sort();
    expect(await migrate(blank.pool, { directory: migrationsDirectory() })).toEqual({
      applied: files,
      version: files.length,
      ahead: false,
    });
    expect(await migrate(blank.pool, { directory: migrationsDirectory() })).toEqual({
      applied: [],
      version: files.length,
      ahead: false,
    });
    await blank.pool.query(`SELECT millrace.enqueue('test.kind', '{}')`);
  });

  test('each says why, and which locks it takes', async () => {
    for (const name of (await readdir(migrationsDirectory())).filter((file) => file.endsWith('.sql'))) {
      const text = await readFile(new URL(name, migrationsDirectory()), 'utf8');
      expect(text, name).toMatch(/^-- Why: /);
      expect(text, name).toMatch(/^-- Locks: /m);
    }
  });

  test('need no right to create schemas where somebody has made this one', async ({ blank: { url, pool } }) => {
    const role = `migrator_${Math.random().toString(36).slice(2)}`;
    await pool.query(`CREATE ROLE ${role}`);
    await pool.query(`CREATE SCHEMA millrace AUTHORIZATION ${role}`);
    const client = await openClient(url);
    try {
      await client.query(`SET ROLE ${role}`);
      expect((await migrate(client, { directory: migrationsDirectory() })).applied).not.toEqual([]);
    } finally {
      await client.end();
      await pool.query(`DROP OWNED BY ${role}`);
      await pool.query(`DROP ROLE ${role}`);
    }
  });
});

describe('what was applied', () => {
  test('is kept with its checksum', async ({ blank, directory }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    const { rows } = await blank.pool.query(
      'SELECT version, file, length(checksum) AS checksum FROM millrace.migrations',
    );
    expect(rows).toEqual([
      { version: 1, file: '0001_a.sql', checksum: 64 },
      { version: 2, file: '0002_b.sql', checksum: 64 },
    ]);
  });

  test('line ends and a byte order mark make no other file of it', async ({ blank, directory }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    for (const file of FILES) {
      const text = await readFile(join(directory, file), 'utf8');
      await writeFile(join(directory, file), `\uFEFF${text.replaceAll('\n', '\r\n')}`);
    }
    expect((await migrate(blank.pool, { directory })).applied).toEqual([]);
  });

  test('an edited old migration is refused by name, and nothing is applied', async ({ blank, directory }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    await writeFile(join(directory, '0001_a.sql'), 'CREATE TABLE millrace.a (n bigint);\n');
    await writeFile(join(directory, '0003_c.sql'), 'CREATE TABLE millrace.c (n int);\n');
    await expect(migrate(blank.pool, { directory })).rejects.toThrow(
      /^0001_a\.sql was changed after it was applied to this database .* put it back .* a new migration\.$/,
    );
    expect(await tablesOf(blank)).not.toContain('c');
  });

  test('a database newer than the code is fine: a rollback of a deploy meets it', async ({ blank, directory }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    await rm(join(directory, '0002_b.sql'));
    expect(await migrate(blank.pool, { directory })).toEqual({ applied: [], version: 2, ahead: true });
  });

  test('a row that somebody removed is refused', async ({ blank, directory }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    await blank.pool.query('DELETE FROM millrace.migrations WHERE version = 1');
    await expect(migrate(blank.pool, { directory })).rejects.toThrow(/removed by hand/);
  });
});

describe('a failing migration', () => {
  test('rolls back everything of its run and names file, line and column', async ({ blank, directory }) => {
    await twoFiles(directory);
    // A character that takes two places in a JavaScript string, and one for Postgres.
    await writeFile(
      join(directory, '0003_c.sql'),
      '-- 🦀\nCREATE TABLE millrace.c (n int);\nINSERT INTO\n  millrace.missing VALUES (1);\n',
    );
    const error = await migrate(blank.pool, { directory }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MigrationFailedError);
    expect(error).toMatchObject({ code: 'migration_failed', file: '0003_c.sql', line: 4 });
    expect((error as Error).message).toMatch(
      /^0003_c\.sql, line 4, column 3: relation "millrace\.missing" does not exist \(42P01\)\. Nothing was applied/,
    );
    expect(await tablesOf(blank)).toEqual([]);

    await writeFile(join(directory, '0003_c.sql'), 'CREATE TABLE millrace.c (n int);\n');
    expect((await migrate(blank.pool, { directory })).applied).toEqual(['0001_a.sql', '0002_b.sql', '0003_c.sql']);
  });

  test('says what Postgres knows when the trouble has no place in the file', async ({ blank, directory }) => {
    await writeFile(join(directory, '0001_a.sql'), `DO $$ BEGIN RAISE EXCEPTION 'not today'; END $$;\n`);
    await expect(migrate(blank.pool, { directory })).rejects.toThrow(
      /^0001_a\.sql: not today; PL\/pgSQL function inline_code_block line 1 at RAISE \(P0001\)/,
    );
  });

  test('may not end the transaction that protects it', async ({ blank, directory }) => {
    for (const text of [
      'COMMIT;',
      'begin;\nSELECT 1;',
      'SELECT 1;\n  ROLLBACK AND CHAIN;',
      'START TRANSACTION READ WRITE;',
    ]) {
      await writeFile(join(directory, '0001_a.sql'), text);
      await expect(migrate(blank.pool, { directory })).rejects.toThrow(
        /0001_a\.sql must not begin or end a transaction/,
      );
    }
  });

  test('a name without its schema does not land wherever the role’s search_path points', async ({
    blank,
    directory,
  }) => {
    await writeFile(join(directory, '0001_a.sql'), 'CREATE TABLE stray (n int);\n');
    await expect(migrate(blank.pool, { directory })).rejects.toThrow(/no schema has been selected/);
  });
});

test.for<[string, string[], RegExp]>([
  ['a gap', ['0001_a.sql', '0003_c.sql'], /0003_c\.sql stands where migration 0002 is expected/],
  ['a number given twice', ['0001_a.sql', '0001_b.sql'], /0001_b\.sql stands where migration 0002 is expected/],
  ['a name that does not fit', ['0001_a.sql', 'fix.sql'], /fix\.sql stands where/],
  ['no file', [], /There are no migrations in/],
])('%s is refused', async ([, files, message], { blank, directory }) => {
  for (const file of files) await writeFile(join(directory, file), 'SELECT 1;\n');
  await expect(migrate(blank.pool, { directory })).rejects.toThrow(message);
  expect(await tablesOf(blank)).toEqual([]);
});

describe('others at work', () => {
  test('two at once: one waits and finds nothing to do', async ({ blank, directory }) => {
    await twoFiles(directory);
    const results = await Promise.all([1, 2, 3].map(() => migrate(blank.pool, { directory })));
    expect(results.map(({ applied }) => applied.length).sort()).toEqual([0, 0, 2]);
    expect(results.map(({ version }) => version)).toEqual([2, 2, 2]);
  });

  test('a lock that somebody holds is not waited for in the way of others: it is tried again', async ({
    blank,
    directory,
  }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    await writeFile(
      join(directory, '0003_c.sql'),
      'CREATE TABLE millrace.c (n int);\nALTER TABLE millrace.a ADD COLUMN m int;\n',
    );
    const holder = await openClient(blank.url);
    await holder.query('BEGIN');
    await holder.query('SELECT * FROM millrace.a');
    const progress: MigrationProgress[] = [];
    const migrated = migrate(blank.pool, { directory, onProgress: (each) => progress.push(each) });
    await expect
      .poll(() => progress.at(0), { timeout: 10_000 })
      .toMatchObject({ name: 'migration.postponed', file: '0003_c.sql' });
    expect(await tablesOf(blank)).not.toContain('c');
    // Others get through between the tries.
    await blank.pool.query('INSERT INTO millrace.a VALUES (2)');
    await holder.query('COMMIT');
    await holder.end();
    expect(await migrated).toEqual({ applied: ['0003_c.sql'], version: 3, ahead: false });
    expect(progress.at(-1)).toMatchObject({ name: 'migration.applied', file: '0003_c.sql' });
  });

  test('when patience ends, it says what to look for, and nothing was applied', async ({ blank, directory }) => {
    await twoFiles(directory);
    await migrate(blank.pool, { directory });
    await writeFile(join(directory, '0003_c.sql'), 'CREATE TABLE millrace.c (n int);\nDROP TABLE millrace.a;\n');
    const holder = await openClient(blank.url);
    await holder.query('BEGIN');
    await holder.query('SELECT * FROM millrace.a');
    const error = await migrate(blank.pool, { directory, patienceSeconds: 1 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MigrationBlockedError);
    expect((error as Error).message).toMatch(
      /^0003_c\.sql could not get a lock within 1 s\. Look for old transactions .* pg_stat_activity/,
    );
    await holder.query('ROLLBACK');
    await holder.end();
    expect(await tablesOf(blank)).not.toContain('c');
  });

  test('so it does when another migration never ends', async ({ blank, directory }) => {
    await twoFiles(directory);
    const other = await openClient(blank.url);
    await other.query('BEGIN');
    await other.query('SELECT pg_advisory_xact_lock(7236834, 0)');
    await expect(migrate(blank.pool, { directory, patienceSeconds: 0.5 })).rejects.toThrow(
      /^Another migration is running/,
    );
    await other.end();
  });

  test('old and new code meet on the new schema: an enqueue between the migrations of a release works', async ({
    blank,
    directory,
  }) => {
    await cp(migrationsDirectory(), directory, { recursive: true });
    const files = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
    await migrate(blank.pool, { directory });
    await writeFile(
      join(directory, `${String(files.length + 1).padStart(4, '0')}_next.sql`),
      'ALTER TABLE millrace.live_jobs ADD COLUMN later text;\n',
    );
    const client = await openClient(blank.url);
    await client.query('BEGIN');
    await client.query(`SELECT millrace.enqueue('test.kind', '{}')`);
    const migrated = migrate(blank.pool, { directory });
    await client.query('COMMIT');
    await client.end();
    expect((await migrated).applied).toHaveLength(1);
    const { rows } = await blank.pool.query('SELECT status FROM millrace.jobs');
    expect(rows).toEqual([{ status: 'pending' }]);
  });
});
