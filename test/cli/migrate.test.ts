import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { readMigrations } from '../../functions/migrate/files.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { until } from '../lifecycle/ground.ts';
import { createDatabase, type Database, openClient } from '../support/database.ts';
import { describe, expect, inject, test as plain, vi } from '../support/fixtures.ts';
import { here } from './here.ts';

const migrations = await readMigrations(migrationsDirectory());
const newest = migrations.length;
const directory = migrationsDirectory();

const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('blank', async ({}, { onCleanup }): Promise<Database> => {
    const database = await createDatabase(inject('serverUrl'));
    onCleanup(() => database.drop());
    return database;
  })
  .extend('cli', async ({ blank }, { onCleanup }) => {
    vi.stubEnv('DATABASE_URL', blank.url);
    onCleanup(() => void vi.unstubAllEnvs());
    return (...args: string[]) => here('migrate', ...args);
  });

async function recorded({ pool }: Database) {
  return (await pool.query('SELECT version, file, checksum FROM millrace.migrations ORDER BY version')).rows;
}

const files = migrations.map(({ version, file, checksum }) => ({ version, file, checksum }));

describe('millrace migrate', () => {
  test('brings the schema up to date, or up to a version, and says where it is', async ({ cli, blank }) => {
    const some = await cli('--to', '5');
    expect(some.stdout).toMatch(/^0001_jobs\.sql\t\d+ ms\n(\d{4}_\w+\.sql\t\d+ ms\n){4}$/);
    expect(some).toMatchObject({ code: 0, stderr: 'applied 5; the schema is at version 5\n' });
    const status = await cli('--status', '--json');
    expect(status.code).toBe(1);
    expect(status.stderr).toContain('npx millrace migrate applies them');
    expect(JSON.parse(status.stdout)).toEqual({
      version: 5,
      newest,
      migrations: migrations.map(({ version, file }) =>
        version > 5
          ? { version, file, state: 'pending', applied_at: null }
          : { version, file, state: 'applied', applied_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT.*Z$/) },
      ),
    });
    const rest = await cli('--json');
    expect(JSON.parse(rest.stdout)).toEqual({
      applied: files.slice(5).map(({ file }) => file),
      version: newest,
      ahead: false,
    });
    expect((await cli('--status')).code).toBe(0);
    expect(await cli()).toEqual({
      code: 0,
      stdout: '',
      stderr: `nothing to do; the schema is at version ${newest}\n`,
    });
    expect(await recorded(blank)).toEqual(files);
  });

  test('moves forward only, and no further than it knows', async ({ cli, blank }) => {
    await cli('--to', '2');
    const back = await cli('--to', '1');
    expect(back).toMatchObject({ code: 1, stdout: '' });
    expect(back.stderr).toBe(
      'The database is at version 2, and 1 was asked for: migrations move forward only. Older code works on a newer schema, so none need go back.\n',
    );
    expect((await cli('--to', '999')).stderr).toContain(
      `the newest migration here is ${newest}: update Millrace first`,
    );
    expect((await cli('--to', 'x')).code).toBe(2);
    expect(await recorded(blank)).toEqual(files.slice(0, 2));
  });

  test('--status shows what was changed since, and what is newer than this code', async ({ cli, blank }) => {
    await cli();
    await blank.pool.query(`INSERT INTO millrace.migrations (version, file, checksum) VALUES ($1, 'later.sql', 'x')`, [
      newest + 1,
    ]);
    const ahead = await cli('--status');
    expect(ahead.code).toBe(0);
    expect(ahead.stdout).toMatch(/^later\.sql\tnewer\t\S+Z$/m);
    expect(ahead.stderr).toBe(`The schema is at version ${newest + 1}; this code has ${newest}, which is fine.\n`);
    await blank.pool.query(`UPDATE millrace.migrations SET checksum = 'other' WHERE version = 3`);
    const changed = await cli('--status');
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(new RegExp(`^${files[2]?.file}\tchanged\t`, 'm'));
    expect(changed.stderr).toContain('put its file back');
  });

  test('what waits for somebody’s lock is said on stderr, and then goes on', async ({ cli, blank }) => {
    await cli('--to', '5');
    const holder = await openClient(blank.url);
    await holder.query('BEGIN; LOCK TABLE millrace.live_jobs');
    const waiting = cli('--to', '6');
    await until(async () => {
      const { rows } = await blank.pool.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return rows.length > 0;
    });
    // Its statement gives up first, so that nobody waits behind it for long.
    await until(async () => {
      const { rows } = await blank.pool.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return rows.length === 0;
    });
    await holder.end();
    const { code, stdout, stderr } = await waiting;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^0006_\S+: somebody holds a lock, again in \d+ ms\napplied 1; the schema is at version 6\n$/,
    );
    expect(stdout).toMatch(/^0006_\S+\t\d+ ms\n$/);
  });

  test('what was taken back, since one after it failed, is not said to be applied', async ({ cli, blank }) => {
    await cli('--to', '5');
    await blank.pool.query('CREATE FUNCTION millrace.is_gone(job_id uuid) RETURNS boolean LANGUAGE sql RETURN true');
    const { code, stdout, stderr } = await cli();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('Nothing was applied');
    expect(await recorded(blank)).toEqual(files.slice(0, 5));
  });
});

describe('millrace migrate --print', () => {
  test.for([0, 5])(
    'at version %i: what is pending, as a file that leaves the migrator nothing to do',
    async (version, { cli, blank }) => {
      if (version > 0) await cli('--to', String(version));
      const { code, stdout, stderr } = await cli('--print');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const client = await openClient(blank.url);
      await client.query(stdout).finally(() => client.end());
      expect(await recorded(blank)).toEqual(files);
      expect(await migrate(blank.pool, { directory })).toEqual({ applied: [], version: newest, ahead: false });
      await blank.pool.query(`SELECT millrace.enqueue('test.kind', '{}')`);
      expect((await cli('--print')).stdout).toBe('-- Nothing is pending.\n');
    },
  );

  test('run where it does not fit, it changes nothing and says why', async ({ cli, blank }) => {
    const { stdout } = await cli('--print', '--to', '3');
    await cli('--to', '2');
    await expect(run(blank, stdout)).rejects.toThrow(
      'This script begins after migration 0, and the database is at 2: print it anew with DATABASE_URL set.',
    );
    expect(await recorded(blank)).toEqual(files.slice(0, 2));
    await run(blank, (await cli('--print', '--to', '3')).stdout);
    expect(await recorded(blank)).toEqual(files.slice(0, 3));
  });

  test('without a database it prints all of them', async ({ cli }) => {
    const { stdout: ofBlank } = await cli('--print');
    vi.stubEnv('DATABASE_URL', '');
    expect(await cli('--print')).toEqual({ code: 0, stdout: ofBlank, stderr: '' });
    const { files: all, version } = JSON.parse((await cli('--print', '--json')).stdout);
    expect({ all, version }).toEqual({ all: files.map(({ file }) => file), version: newest });
  });

  async function run({ url }: Database, script: string): Promise<void> {
    const client = await openClient(url);
    await client.query(script).finally(() => client.end());
  }
});

test('exit codes tell a wrong command line from a database that does not let in', async ({ cli, blank }) => {
  expect((await cli('--status', '--print')).code).toBe(2);
  const wrong = new URL(blank.url);
  wrong.password = 'wrong';
  expect(await cli('--status', '--database-url', wrong.href)).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringMatching(/^\S+:\d+\/\S+: .*password.*: look at user and password of DATABASE_URL\.\n$/),
  });
  wrong.pathname = '/nowhere';
  wrong.password = new URL(blank.url).password;
  expect(await cli('--database-url', wrong.href)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('does not exist: look at the end of DATABASE_URL.'),
  });
  // Not all migrations, as for none: a variable that is not set.
  expect(await cli('--print', '--database-url', '')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('is the variable set?'),
  });
  vi.stubEnv('DATABASE_URL', '');
  expect(await cli()).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^Which database\? Give DATABASE_URL or --database-url/),
  });
});
