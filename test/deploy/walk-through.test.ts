import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { SCHEMA_VERSION } from '../../functions/lambda/schema-version.ts';
import { startPostgres } from '../../local/postgres.ts';
import { until } from '../lifecycle/ground.ts';
import { createDatabase, type Database, openClient } from '../support/database.ts';
import { describe, expect, inject, test as plain } from '../support/fixtures.ts';
import { Deployment, nextRelease, type Release, returned, synthesizedRelease, thrown } from './stage.ts';

/** What the next release adds: expand only, as migrations must be. */
const NEXT = numbered(1, 'note');
const ADDS_A_COLUMN = 'ALTER TABLE millrace.live_jobs ADD COLUMN note text;\n';

const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('release', { scope: 'file' }, async ({}, { onCleanup }): Promise<Release> => {
    const release = await synthesizedRelease();
    onCleanup(() => release.remove());
    return release;
  })
  // biome-ignore lint/correctness/noEmptyPattern: as above
  .extend('database', async ({}, { onCleanup }): Promise<Database> => {
    const database = await createDatabase(inject('serverUrl'));
    onCleanup(() => database.drop());
    return database;
  })
  .extend('deployment', async ({ release, database }) => new Deployment(release, database.url))
  .extend('update', async ({ release, database }, { onCleanup }) => {
    const releases: Release[] = [];
    onCleanup(async () => void (await Promise.all(releases.map((made) => made.remove()))));
    return async (migrations: Readonly<Record<string, string>>) => {
      const next = await nextRelease(release, migrations);
      releases.push(next);
      return new Deployment(next, database.url);
    };
  });

test.beforeAll(({ release }) => void release, 120_000);

describe('a first deploy', () => {
  test('makes the schema on an empty database, and jobs go through', async ({ deployment }) => {
    const { applied, version, ahead } = await deployment.migrate();
    expect(applied).toHaveLength(SCHEMA_VERSION);
    expect({ version, ahead }).toEqual({ version: SCHEMA_VERSION, ahead: false });
    await expectJobsToGoThrough(deployment);
  });

  test('waits for a database that is not up yet', async ({ release }) => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-late-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const options = { directory, settings: { fsync: 'off' } };
    const first = await startPostgres(options);
    await first.stop();

    const migrating = await new Deployment(release, first.url).start('Migrate');
    await until(() => migrating.said.includes('database.awaited'));
    const server = await startPostgres({ ...options, port: Number(new URL(first.url).port) });
    onTestFinished(() => server.stop());
    expect(await returned(migrating)).toMatchObject({ version: SCHEMA_VERSION });
  });

  test('may be made twice at once', async ({ deployment }) => {
    const both = await Promise.all([deployment.migrate(), deployment.migrate()]);
    const applied = both.map((result) => result.applied.length).toSorted((a, b) => a - b);
    expect(applied).toEqual([0, SCHEMA_VERSION]);
    expect(both.map(({ version }) => version)).toEqual([SCHEMA_VERSION, SCHEMA_VERSION]);
  });
});

describe('a deploy of what is deployed', () => {
  test('changes nothing', async ({ deployment, database }) => {
    await deployment.migrate();
    const { body: job } = await greet(deployment);
    const before = await schemaOf(database);
    expect(await deployment.migrate()).toEqual({ applied: [], version: SCHEMA_VERSION, ahead: false });
    expect(await schemaOf(database)).toEqual(before);
    expect(await deployment.work()).toMatchObject({ completed: 1 });
    expect(await statusOf(deployment, job.id)).toBe('completed');
  });
});

describe('an update with a new migration', () => {
  test('applies it before new code takes traffic; old code goes on meanwhile', async ({ deployment, update }) => {
    await deployment.migrate();
    const { body: job } = await greet(deployment);

    const next = await update({ [NEXT]: ADDS_A_COLUMN });
    expect(await next.migrate()).toEqual({ applied: [NEXT], version: SCHEMA_VERSION + 1, ahead: false });
    await expectJobsToGoThrough(deployment);
    expect(await statusOf(next, job.id)).toBe('completed');
    await expectJobsToGoThrough(next);
  });

  test('waits for a lock that somebody holds, and steps aside for jobs meanwhile', async ({
    deployment,
    database,
    update,
  }) => {
    await deployment.migrate();
    const next = await update({ [NEXT]: ADDS_A_COLUMN });
    const reader = await openClient(database.url);
    await reader.query('BEGIN; SELECT count(*) FROM millrace.live_jobs');

    const migrating = await next.start('Migrate');
    await until(() => migrating.said.includes('migration.postponed'));
    // An enqueue is behind the migration in the queue for the table, until that one's lock timeout.
    const { status } = await greet(deployment);
    expect(status).toBe(201);
    await reader.query('COMMIT');
    await reader.end();
    expect(await returned(migrating)).toMatchObject({ applied: [NEXT] });
    expect(await deployment.work()).toMatchObject({ completed: 1 });
  });

  test('that outlasts its function is undone, and the next deploy waits for that', async ({ deployment, update }) => {
    await deployment.migrate();
    const slow = await update({ [NEXT]: `${ADDS_A_COLUMN}SELECT pg_sleep(4);\n` });
    const killed = await slow.start('Migrate', {}, { timeoutSeconds: 2 });
    expect(await killed.ended).toEqual({ kind: 'timed out' });

    const mended = await update({ [NEXT]: ADDS_A_COLUMN });
    expect(await mended.migrate()).toEqual({ applied: [NEXT], version: SCHEMA_VERSION + 1, ahead: false });
    await expectJobsToGoThrough(deployment);
  });
});

describe('a failing migration', () => {
  test('fails the deploy by file and line, leaves nothing of it, and what is deployed goes on', async ({
    deployment,
    database,
    update,
  }) => {
    await deployment.migrate();
    const before = await schemaOf(database);
    const { body: job } = await greet(deployment);

    const wrong = numbered(2, 'wrong');
    const next = await update({
      [NEXT]: ADDS_A_COLUMN,
      [wrong]:
        '-- Why, and what it locks.\nCREATE TABLE millrace.notes (id int);\nALTER TABLE millrace.no_such ADD x int;\n',
    });
    const error = await thrown(await next.start('Migrate'));
    expect(error.name).toBe('MigrationFailedError');
    expect(error.message).toMatch(new RegExp(`^${wrong}.*relation "millrace.no_such" does not exist`));
    expect(error.message).toContain('Nothing was applied; correct the file and run it again.');
    expect(await schemaOf(database)).toEqual(before);

    // CloudFormation goes back: it calls the migrator that was deployed before.
    expect(await deployment.migrate()).toEqual({ applied: [], version: SCHEMA_VERSION, ahead: false });
    expect(await deployment.work()).toMatchObject({ completed: 1 });
    expect(await statusOf(deployment, job.id)).toBe('completed');

    const mended = await update({
      [NEXT]: ADDS_A_COLUMN,
      [wrong]: '-- Why, and what it locks.\nCREATE TABLE millrace.notes (id int);\n',
    });
    expect(await mended.migrate()).toMatchObject({ applied: [NEXT, wrong], version: SCHEMA_VERSION + 2 });
  });

  test('names the line of a mistake in its text', async ({ deployment, update }) => {
    await deployment.migrate();
    const next = await update({ [NEXT]: '-- Why.\n\nALTER TABLE millrace.live_jobs\n  AD COLUMN note text;\n' });
    const { message } = await thrown(await next.start('Migrate'));
    expect(message).toContain(`${NEXT}, line 4, column 3: syntax error at or near "AD" (42601)`);
  });

  test('on an empty database leaves it empty', async ({ database, update }) => {
    const next = await update({ [NEXT]: 'SELECT 1/0;\n' });
    const { message } = await thrown(await next.start('Migrate'));
    expect(message).toContain(`${NEXT}: division by zero (22012)`);
    const { rows } = await database.pool.query(`SELECT nspname FROM pg_namespace WHERE nspname = 'millrace'`);
    expect(rows).toEqual([]);
  });
});

describe('a rollback', () => {
  test('succeeds with a database that is ahead, and the old code works on it', async ({
    deployment,
    database,
    update,
  }) => {
    await deployment.migrate();
    const next = await update({ [NEXT]: ADDS_A_COLUMN });
    await next.migrate();
    const { body: job } = await greet(next);
    const ahead = await schemaOf(database);

    expect(await deployment.migrate()).toEqual({ applied: [], version: SCHEMA_VERSION + 1, ahead: true });
    expect(await schemaOf(database)).toEqual(ahead);
    expect(await deployment.request('Ready', 'GET /ready')).toMatchObject({ status: 200 });
    expect(await deployment.work()).toMatchObject({ completed: 1 });
    expect(await statusOf(deployment, job.id)).toBe('completed');
    await expectJobsToGoThrough(deployment);

    // And forward again.
    expect(await next.migrate()).toEqual({ applied: [], version: SCHEMA_VERSION + 1, ahead: false });
  });
});

/** The file of a migration that comes so many after the last. */
function numbered(after: number, name: string): string {
  return `${String(SCHEMA_VERSION + after).padStart(4, '0')}_${name}.sql`;
}

function greet(deployment: Deployment) {
  return deployment.request('Enqueue', 'POST /jobs', { kind: 'hello.greet', payload: { name: 'Ada' } });
}

async function statusOf(deployment: Deployment, id: string): Promise<string> {
  return (await deployment.request('JobsRead', `GET /jobs/${id}`)).body.status;
}

async function expectJobsToGoThrough(deployment: Deployment): Promise<void> {
  const { status, body: job } = await greet(deployment);
  expect(status).toBe(201);
  await deployment.work();
  expect(await statusOf(deployment, job.id)).toBe('completed');
}

/** Every table, column, function and index there is, and what was applied. */
async function schemaOf({ pool }: Database): Promise<unknown[]> {
  const { rows } = await pool.query(`
    SELECT 'column' AS what, table_name || '.' || column_name AS name
    FROM information_schema.columns
    WHERE table_schema = 'millrace'
    UNION ALL SELECT 'function', oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'millrace'::regnamespace
    UNION ALL SELECT 'index', indexname FROM pg_indexes WHERE schemaname = 'millrace'
    UNION ALL SELECT 'migration', file FROM millrace.migrations
    ORDER BY 1, 2`);
  return rows;
}
