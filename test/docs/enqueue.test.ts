import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { onTestFinished } from 'vitest';
import { contracts } from '../../functions/jobs/contracts.ts';
import { processors } from '../../functions/jobs/processors.ts';
import { runOn } from '../lifecycle/ground.ts';
import { adoptApp, launch } from '../local/project.ts';
import { createDatabase, type Database } from '../support/database.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from '../support/fixtures.ts';
import { startLambdaApi } from '../support/lambda-api.ts';
import { blockNamed, blocksOf, isFile, root } from './blocks.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/enqueue.md');
const block = (name: string) => blockNamed(blocks, name);

test('docs/enqueue.md shows files as they are, and what is executed below', async () => {
  for (const { name, text } of blocks.filter(isFile)) expect(text, name).toBe(await readFile(join(root, name), 'utf8'));
  // test/consumer/orms executes those in TypeScript.
  expect(blocks.filter((one) => !isFile(one)).map(({ language, name }) => `${language} ${name}`)).toEqual([
    'sh database',
    'sh post',
    'sh wait',
    'sh batch',
    'sh token',
    'sql customers',
    'sql transaction',
    'sql unique',
    'sql select',
    'sql many',
    'sql look',
    'sql cancel',
    'sql grant',
    'sql wake',
    'sh python',
    'sh go',
  ]);
});

describe('against npm start', () => {
  let database: Database;
  let directory: string;
  let runtime: ReturnType<typeof launch>;
  let url: string;

  beforeAll(async () => {
    database = await createDatabase(inject('serverUrl'), inject('templateName'));
    directory = await projectDirectory();
    runtime = launch(directory, { DATABASE_URL: database.url });
    url = await runtime.ready;
  }, 120_000);
  afterAll(async () => {
    await runtime.stop();
    await rm(directory, { recursive: true, force: true });
    await database.drop();
  });

  test('curl: one job, once however often it is sent; its end; a batch', { timeout: 90_000 }, async () => {
    const found = await shell(`${block('database')}echo "$DATABASE_URL"`, { cwd: directory });
    expect(found.trim()).toBe(database.url);

    const job = JSON.parse(await curl('post', url));
    expect(job).toMatchObject({ kind: 'hello.greet', subject: 'customer:7', outcome: 'created' });
    expect(JSON.parse(await curl('post', url))).toMatchObject({ id: job.id, outcome: 'replayed' });
    expect(JSON.parse(await curl('wait', url, { ID: job.id }))).toMatchObject({ id: job.id, status: 'completed' });

    const batch = JSON.parse(await curl('batch', url));
    expect(batch.jobs).toMatchObject([{ id: job.id, outcome: 'replayed' }, { outcome: 'created' }]);
  });

  test('Python: over HTTP, and in a transaction that is rolled back whole', { timeout: 180_000 }, async ({ skip }) => {
    skip(!isThere('python3', '--version'), 'there is no python3 on this machine');
    await customers(database.pool);
    const cwd = await pythonFolder();
    const env = { DATABASE_URL: database.url, MILLRACE_URL: url };
    const output = await shell(block('python'), { cwd, env });
    expect(output).toMatch(/^[0-9a-f-]{36} completed$/m);
    expect(output).toMatch(/^[0-9a-f-]{36} \['created', 'created'\]$/m);
    await expectRolledBack(database.pool, () =>
      shell('.venv/bin/python examples/python/in_transaction.py', { cwd, env }),
    );
  });

  test('Go: over HTTP, and in a transaction that is rolled back whole', { timeout: 300_000 }, async ({ skip }) => {
    skip(!isThere('go', 'version'), 'there is no go on this machine');
    await customers(database.pool);
    // Without it the first build needs a C compiler, and takes longer.
    const env = { DATABASE_URL: database.url, MILLRACE_URL: url, CGO_ENABLED: '0' };
    const output = await shell(block('go'), { cwd: root, env });
    expect(output).toMatch(/^[0-9a-f-]{36} completed$/m);
    expect(output).toMatch(/^[0-9a-f-]{36} \[created created\]$/m);
    await expectRolledBack(database.pool, () => shell('go run ./sql', { cwd: join(root, 'examples/go'), env }));
  });
});

test('a token opens what is closed without', { timeout: 90_000 }, async ({ own }) => {
  const directory = await projectDirectory();
  const runtime = launch(directory, { DATABASE_URL: own.url, MILLRACE_AUTH: 'on' });
  try {
    const MILLRACE_URL = await runtime.ready;
    const command = block('token').split('\n')[0]?.replace('npm run -s token --', `node ${root}bin/millrace.ts token`);
    const asked = `${command}\n${block('token').split('\n').slice(1).join('\n')}`;
    const job = JSON.parse(await shell(asked, { cwd: directory, env: { MILLRACE_URL } }));
    expect(job).toMatchObject({ kind: 'hello.greet', outcome: 'created' });
    const refused = await shell(asked.replace(/^.*\n/, 'MILLRACE_TOKEN=mlr_other\n'), { env: { MILLRACE_URL } });
    expect(JSON.parse(refused)).toEqual({ message: 'Forbidden' });
  } finally {
    await runtime.stop();
    await rm(directory, { recursive: true, force: true });
  }
});

test('SQL: in a transaction, with a unique key, many, looked at, cancelled', async ({ own }) => {
  const sql = async (name: string) => (await own.pool.query(block(name))).rows;
  await sql('customers');
  await sql('transaction');
  await own.pool.query(block('transaction').replace('COMMIT', 'ROLLBACK').replace('INSERT', '-- INSERT'));
  expect(await sql('look')).toMatchObject([{ status: 'pending', attempts: 0, errors: [], result: null }]);

  const [first] = await sql('unique');
  expect(await sql('unique')).toEqual([first]);
  expect(await sql('select')).toHaveLength(1);
  const created = { id: expect.any(String), outcome: 'created' };
  const many = await sql('many');
  expect(many).toEqual([
    { index: 0, ...created },
    { index: 1, ...created },
  ]);
  expect(await sql('many')).toEqual([
    { ...many[0], outcome: 'replayed' },
    { index: 1, ...created },
  ]);

  expect(await runOn(own.url, { contracts, processors })).toMatchObject({ completed: 3 });
  await own.pool.query(block('select'));
  expect(await sql('cancel')).toMatchObject([{ cancel: 'cancelled' }]);
  expect((await sql('look')).map(({ status }) => status)).toEqual(['cancelled', 'completed', 'completed']);
});

test('SQL: a role that owns nothing puts jobs in with that grant, and does the rest with those that are named', async ({
  own,
}) => {
  const role = `millrace_app_${randomBytes(6).toString('hex')}`;
  await own.pool.query(`CREATE ROLE ${role}`);
  const client = await own.pool.connect();
  try {
    await client.query(block('grant').replaceAll(' app;', ` ${role};`));
    await client.query(block('customers').replace('PRIMARY KEY', ''));
    await client.query(`ALTER TABLE customers OWNER TO ${role}; SET ROLE ${role}`);
    for (const name of ['transaction', 'unique', 'unique', 'select', 'many', 'many']) await client.query(block(name));
    expect((await client.query('SELECT id, status FROM millrace.jobs')).rows).toHaveLength(6);
    for (const [name, needed] of [
      ['look', 'reader'],
      ['cancel', 'operator'],
    ] as const) {
      await expect(client.query(block(name))).rejects.toMatchObject({ code: '42501' });
      await client.query(`RESET ROLE; GRANT millrace_${needed} TO ${role}; SET ROLE ${role}`);
      await client.query(block(name));
    }
    await expect(client.query('DROP TABLE millrace.live_jobs')).rejects.toMatchObject({ code: '42501' });
  } finally {
    await client.query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
    client.release();
  }
});

test('a worker is started once, after the commit, by TypeScript and by SQL', { timeout: 30_000 }, async ({ own }) => {
  const lambda = await startLambdaApi();
  onTestFinished(() => lambda.close());
  await own.pool.query(block('customers').replace('PRIMARY KEY', ''));
  const env = {
    DATABASE_URL: own.url,
    WAKE_FUNCTIONS: '{"*":"Shop-JobsWork"}',
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
  expect(await shell('node examples/typescript/wake.ts', { cwd: root, env })).toMatch(/, started: Shop-JobsWork$/m);
  expect(lambda.invoked).toEqual([{ name: 'Shop-JobsWork', type: 'Event', event: { slot: 0, woken: true } }]);
  const asked = async () => (await own.pool.query({ text: block('wake'), rowMode: 'array' })).rows;
  await own.pool.query(`UPDATE millrace.wakes SET woken_at = clock_timestamp()`);
  expect(await asked()).toEqual([]);
  await own.pool.query(`UPDATE millrace.wakes SET woken_at = woken_at - interval '2 seconds'`);
  expect(await asked()).toEqual([['Shop-JobsWork']]);
  expect((await own.pool.query('SELECT status FROM millrace.jobs')).rows).toEqual([{ status: 'pending' }]);
});

/** Where `npm start` finds this project's app, and may keep its things. */
async function projectDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-docs-'));
  await adoptApp(directory);
  return directory;
}

/** Kept for as long as the requirements and the interpreter stay: what is installed already is not installed again. */
async function pythonFolder(): Promise<string> {
  const requirements = await readFile(join(root, 'examples/python/requirements.txt'));
  const interpreter = spawnSync('python3', ['-c', 'import sys; print(sys.executable, sys.version)']).stdout;
  const made = createHash('sha256').update(requirements).update(interpreter).digest('hex');
  const folder = join(root, 'dist', `python-${made.slice(0, 12)}`);
  await mkdir(folder, { recursive: true });
  await symlink(join(root, 'examples'), join(folder, 'examples')).catch(() => {});
  return folder;
}

/** The table, but its key is checked at the commit only: a second run gets past its enqueues and is rolled back then. */
async function customers(pool: pg.Pool): Promise<void> {
  const table = block('customers').replace('PRIMARY KEY', 'PRIMARY KEY DEFERRABLE INITIALLY DEFERRED');
  await pool.query(`DROP TABLE IF EXISTS customers; ${table}`);
}

async function expectRolledBack(pool: pg.Pool, again: () => Promise<unknown>): Promise<void> {
  const count = async () => (await pool.query('SELECT count(*)::int AS n FROM millrace.jobs')).rows;
  const before = await count();
  await expect(again()).rejects.toMatchObject({ stderr: expect.stringContaining('customers_pkey') });
  expect(await count()).toEqual(before);
}

function isThere(command: string, version: string): boolean {
  return spawnSync(command, [version]).status === 0;
}

async function curl(name: string, url: string, env: Record<string, string> = {}): Promise<string> {
  return shell(block(name).replaceAll('http://127.0.0.1:3000', url), { env });
}

async function shell(
  script: string,
  { cwd, env }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const path = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, PATH: path, ...env },
  });
  return stdout;
}
