import { randomUUID } from 'node:crypto';
import type { Db } from '../../functions/queue/db.ts';
import { insertJob, insertJobs, type NewJob } from '../../functions/queue/enqueue.ts';
import { expect, openClient, test } from '../support/fixtures.ts';
import { costOf, type PlanMode } from './pages.ts';

/** Of each sort. */
const MANY = 5000;

/** A backlog of one kind, each with a unique key and an idempotency key; as many that have ended; some that run. */
async function load(db: Db): Promise<void> {
  await db.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, $1::int) n),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job),
          key AS (
            INSERT INTO millrace.idempotency_keys (kind, key, fingerprint, job_id)
            SELECT 'test.kind', 'known ' || n, millrace.fingerprint('test.kind', '{}'), id FROM job)
     INSERT INTO millrace.live_jobs (id, kind, unique_key) SELECT id, 'test.kind', 'pending ' || n FROM job`,
    [MANY],
  );
  await db.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, 1000) n),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
     INSERT INTO millrace.live_jobs (id, kind, unique_key, status, attempts, locked_by, locked_until)
     SELECT id, 'test.kind', 'running ' || n, 'processing', 1, id, now() FROM job`,
  );
  await db.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, $1::int) n),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job),
          key AS (
            INSERT INTO millrace.idempotency_keys (kind, key, job_id) SELECT 'test.kind', 'ended ' || n, id FROM job),
          dead AS (
            INSERT INTO millrace.dead_jobs
              (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
            SELECT id, 'test.kind', 'default', 0, 5, 5, 0, now(), now(), 2, '{}' FROM job WHERE n % 2 = 0)
     INSERT INTO millrace.finished_jobs
       (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
     SELECT id, 'test.kind', 'default', 'completed', 0, 1, 5, 0, now(), now(), 2 FROM job WHERE n % 2 = 1`,
    [MANY],
  );
}

type Fields = Partial<NewJob> | ((n: number) => Partial<NewJob>);

/** What is put in, and the pages that it may look at for a job: about twice what it does. */
function enqueues(size: number): [name: string, pages: number, jobs: NewJob[]][] {
  const jobs = (fields: Fields): NewJob[] =>
    Array.from({ length: size }, (_, n) => ({
      kind: 'test.kind',
      payload: {},
      id: randomUUID(),
      ...(typeof fields === 'function' ? fields(n) : fields),
    }));
  const run = randomUUID();
  const many = jobs({});
  return [
    ['many', 30, many],
    ['many without ids', 30, jobs({ id: undefined })],
    ['many, every other without an id', 30, jobs((n) => (n % 2 ? { id: undefined } : {}))],
    ['many, again', 12, many],
    ['idempotency keys', 45, jobs((n) => ({ idempotencyKey: `${run} ${n}` }))],
    ['idempotency keys that are known', 24, jobs((n) => ({ idempotencyKey: `known ${n + 1}` }))],
    ['idempotency keys of jobs that have ended', 24, jobs((n) => ({ idempotencyKey: `ended ${n + 1}` }))],
    ['unique keys', 45, jobs((n) => ({ uniqueKey: `${run} ${n}`, uniqueWhile: 'live' }))],
    ['unique keys of pending jobs', 24, jobs((n) => ({ uniqueKey: `pending ${n + 1}` }))],
    ['unique keys of jobs that run', 24, jobs((n) => ({ uniqueKey: `running ${n + 1}`, uniqueWhile: 'live' }))],
    ['replacing', 60, jobs((n) => ({ uniqueKey: `pending ${MANY - n}`, replace: ['payload', 'run_at'] }))],
  ];
}

async function check(db: Db, url: string): Promise<void> {
  const client = await openClient(url);
  for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
    for (const size of [10, 300]) {
      for (const [name, limit, jobs] of enqueues(size)) {
        const { pages, rowsScanned } = await costOf(client, mode, (on) => insertJobs(on, jobs));
        expect.soft(pages / size, `${size} with ${name}, ${mode}: pages for each job`).toBeLessThan(limit + 40 / size);
        expect.soft(rowsScanned, `${size} with ${name}, ${mode}: rows scanned`).toBeLessThan(50);
      }
    }
    // On average: one that splits a page of an index looks at twice as many.
    const { pages } = await costOf(client, mode, async (on) => {
      for (let n = 0; n < 10; n += 1) await insertJob(on, { kind: 'test.kind', payload: {} });
    });
    expect.soft(pages / 10, `one by one, ${mode}`).toBeLessThan(30);
  }
  await client.end();
  expect((await db.query('SELECT FROM millrace.live_jobs LIMIT 1')).rowCount).toBe(1);
}

// In this order: statistics outlive a TRUNCATE.
test('an enqueue looks at few pages, whatever lies around and without statistics', async ({ db, databaseUrl }) => {
  await load(db);
  await check(db, databaseUrl);
});

test('with statistics of what is there', async ({ db, databaseUrl }) => {
  await load(db);
  await db.query('ANALYZE');
  await check(db, databaseUrl);
});

test('with statistics of a time when there was next to nothing', async ({ db, databaseUrl }) => {
  await insertJob(db, { kind: 'test.kind', payload: {}, uniqueKey: 'u', idempotencyKey: 'i' });
  await db.query('ANALYZE');
  await load(db);
  await check(db, databaseUrl);
});
