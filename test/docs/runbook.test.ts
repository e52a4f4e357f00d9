import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { createLog } from '../../functions/lambda/log.ts';
import { adoptApp, launch, tokensIn } from '../local/project.ts';
import { createDatabase, type Database } from '../support/database.ts';
import { deadJob, pendingJob, processingJob } from '../support/factories.ts';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from '../support/fixtures.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/runbook.md');

test('docs/runbook.md shows nothing but what is executed below', () => {
  expect(blocks.map(({ language, name }) => `${language} ${name}`)).toEqual([
    'sh api',
    'sh ready',
    'text insights',
    'sql waiting',
    'sql workers',
    'sql running',
    'sql dead',
    'sh dead',
    'sh redrive',
    'sql reaped',
    'sh pause',
    'sql last-worker',
    'sql unclaimed',
    'sh cancel',
    'sql pinned',
    'sql bloat',
    'sql terminate',
    'sql sessions',
    'text access-log',
    'sql schema',
    'sql connections',
    'sql statements',
    'sql flow',
    'sql disk',
    'sql sizes',
    'sql wal',
  ]);
});

const namedSql = (name: string) =>
  blockNamed(
    blocks.filter(({ language }) => language === 'sql'),
    name,
  );

describe('the queries', () => {
  const rowsOf = async (db: pg.Pool | pg.PoolClient, name: string) => (await db.query(namedSql(name))).rows;

  test('show jobs that wait, and why', async ({ own: { pool } }) => {
    await pendingJob(pool, { kind: 'mail.send', dueInSeconds: -900 });
    await pendingJob(pool, { kind: 'mail.send', dueInSeconds: -60 });
    await pendingJob(pool, { kind: 'mail.send', queue: 'slow', dueInSeconds: -60 });
    await pendingJob(pool, { kind: 'later', dueInSeconds: 60 });
    await processingJob(pool, { kind: 'report.make' });
    await pool.query(`INSERT INTO millrace.pauses (scope, name) VALUES ('queue', 'slow')`);
    expect(await rowsOf(pool, 'waiting')).toMatchObject([
      { kind: 'mail.send', queue: 'default', due: '2', paused: false },
      { kind: 'mail.send', queue: 'slow', due: '1', paused: true },
    ]);
    expect(await rowsOf(pool, 'running')).toMatchObject([{ kind: 'report.make', queue: 'default', running: '1' }]);
    expect(await rowsOf(pool, 'workers')).toEqual([]);
    expect(await rowsOf(pool, 'last-worker')).toEqual([{ last_seen: null, ago: null }]);

    await worker(pool, 'default', ['mail.send'], 10);
    await worker(pool, 'slow', ['mail.send'], 600);
    expect(await rowsOf(pool, 'unclaimed')).toMatchObject([{ kind: 'mail.send', queue: 'slow', due: '1' }]);
    expect(await rowsOf(pool, 'workers')).toMatchObject([{ queue: 'default' }, { queue: 'slow' }]);
    expect(await rowsOf(pool, 'last-worker')).toMatchObject([{ ago: { seconds: 10 } }]);
  });

  test('show what jobs died of, and which took their worker with them', async ({ own: { pool } }) => {
    const errors = [{ attempt: 1, name: 'Error', message: 'refused', where: 'Work request stream' }];
    for (const _ of [1, 2]) await deadJob(pool, { kind: 'mail.send', errors, reaps: 0 });
    await deadJob(pool, { kind: 'mail.send', errors, finishedSecondsAgo: 200_000 });
    const { id } = await pendingJob(pool, { kind: 'report.make', reaps: 2, attempts: 2, errors });
    expect(await rowsOf(pool, 'dead')).toMatchObject([
      { kind: 'mail.send', error: 'Error', message: 'refused', jobs: '2' },
    ]);
    expect(await rowsOf(pool, 'reaped')).toMatchObject([{ id, reaps: 2, last_run: 'Work request stream' }]);
  });

  test('show who keeps vacuum from its work, and end it', async ({ own: { pool } }) => {
    const [idle, ended] = [await pool.connect(), new AbortController()];
    idle.on('error', () => ended.abort());
    try {
      await idle.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      const { rows } = await idle.query('SELECT pg_backend_pid()::text AS pid, count(*) FROM millrace.live_jobs');
      const pid: string = rows[0].pid;
      await pool.query('CREATE TABLE churn (); DROP TABLE churn');
      await pool.query('CREATE TABLE churn (); DROP TABLE churn');
      // Other tests are at work on this server, and hold back its vacuum for longer.
      const own = (await rowsOf(pool, 'pinned')).find(({ name }) => name === pid);
      expect(own).toMatchObject({ what: 'transaction', state: 'idle in transaction' });
      expect(own.transactions).toBeGreaterThanOrEqual(1);
      expect(await rowsOf(pool, 'terminate')).toEqual([]);
      const soon = namedSql('terminate').replace('> 1000000', '> 0');
      expect((await pool.query(soon)).rows).toEqual([{ pg_terminate_backend: true }]);
      await vi.waitFor(() => expect(ended.signal.aborted).toBe(true));
    } finally {
      // The pool's end waits for whoever has a connection of it.
      idle.release(true);
    }
  });

  test('show what the database does, and what it holds', async ({ own: { pool } }) => {
    await pool.query(`SELECT millrace.enqueue('hello.greet', '{"name": "Ada"}')`);
    expect(await rowsOf(pool, 'flow')).toEqual([{ kind: 'hello.greet', event: 'enqueued', jobs: '1' }]);
    const [{ version }] = await rowsOf(pool, 'schema');
    expect(version).toBeGreaterThanOrEqual(11);
    const tables = (await rowsOf(pool, 'sizes')).map(({ relname }) => relname);
    expect(tables).toEqual(expect.arrayContaining(['live_jobs', expect.stringMatching(/^payloads_/)]));
    expect((await rowsOf(pool, 'disk')).length).toBe(10);
    expect((await rowsOf(pool, 'bloat')).length).toBe(10);
    expect(Number((await rowsOf(pool, 'sessions'))[0].sessions)).toBeGreaterThan(0);
    expect(Number((await rowsOf(pool, 'connections'))[0].connections)).toBeGreaterThan(0);
    for (const name of ['statements', 'wal']) expect(await rowsOf(pool, name)).toEqual(expect.any(Array));
  });

  /** A worker that said so that long ago. */
  async function worker(pool: pg.Pool, queue: string, kinds: string[], secondsAgo: number): Promise<void> {
    await pool.query(
      `INSERT INTO millrace.claim_marks (queue, kinds_hash, kinds, marks, rescanned_at)
       VALUES ($1, gen_random_uuid(), $2, array_fill(now(), ARRAY[11]), now() - make_interval(secs => $3))`,
      [queue, kinds, secondsAgo],
    );
  }
});

describe('the requests, against npm start with tokens', () => {
  let database: Database;
  let directory: string;
  let runtime: ReturnType<typeof launch>;
  let api: string;

  beforeAll(async () => {
    database = await createDatabase(inject('serverUrl'), inject('templateName'));
    directory = await mkdtemp(join(tmpdir(), 'millrace-runbook-'));
    await adoptApp(directory);
    const { operator } = await tokensIn(directory);
    await writeFile(join(directory, 'operator-token'), operator);
    runtime = launch(directory, { DATABASE_URL: database.url, MILLRACE_AUTH: 'on' });
    api = blockNamed(blocks, 'api').replace('http://127.0.0.1:3000', await runtime.ready);
  }, 120_000);
  afterAll(async () => {
    await runtime.stop();
    await rm(directory, { recursive: true, force: true });
    await database.drop();
  });

  /** What a block writes, run as somebody would who has set up the shell as the first one says. */
  async function shell(name: string): Promise<string> {
    const script = blockNamed(
      blocks.filter(({ language }) => language === 'sh'),
      name,
    );
    const commands = `${api}\n${script}`.replaceAll('npx millrace', `node ${root}bin/millrace.ts`);
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: directory });
    return stdout;
  }

  test('tell whether all is well', async () => {
    expect(JSON.parse(await shell('ready'))).toMatchObject({ status: 'ready' });
  });

  test('show a dead job, and say what a redrive would do without doing it', async () => {
    const errors = [{ attempt: 1, name: 'TimeoutError', message: 'no answer' }];
    const { id } = await deadJob(database.pool, { kind: 'hello.greet', payload: { name: 'Ada' }, errors });
    expect(await shell('dead')).toMatch(new RegExp(`^${id}\\tdead\\thello\\.greet\\t.*no answer`));
    expect(await shell('redrive')).toBe('matched\t1\n');
    const { rows } = await database.pool.query('SELECT status FROM millrace.jobs WHERE id = $1', [id]);
    expect(rows).toEqual([{ status: 'dead' }]);
  });

  test('pause a kind, and cancel the jobs of one that is gone', async () => {
    await shell('pause');
    const paused = await database.pool.query('SELECT scope, name FROM millrace.pauses WHERE resumed_at IS NULL');
    expect(paused.rows).toEqual([{ scope: 'kind', name: 'hello.greet' }]);
    for (const _ of [1, 2]) await database.pool.query(`SELECT millrace.enqueue('old.kind', '{}')`);
    await shell('cancel');
    const { rows } = await database.pool.query(`SELECT status FROM millrace.jobs WHERE kind = 'old.kind'`);
    expect(rows).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
  });
});

test('what is looked for in the logs of the functions is there', () => {
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => written.push(String(line)) > 0);
  createLog({ function: 'reap' }).error('a part of the tick failed', { error: new TypeError('no') });
  write.mockRestore();
  const line = JSON.parse(written.join(''));
  expect(line).toMatchObject({
    level: 'error',
    message: expect.any(String),
    error: { name: 'TypeError', message: 'no' },
  });
  const fields =
    blockNamed(blocks, 'insights')
      .match(/by (.*)/)?.[1]
      ?.split(', ') ?? [];
  for (const field of fields) {
    const value = field.split('.').reduce((within: unknown, key) => (within as Record<string, unknown>)?.[key], line);
    expect(value, field).toBeDefined();
  }
});
