import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';
import { get } from '../../functions/queue/get.ts';
import { type Listing, list } from '../../functions/queue/list.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { stats } from '../../functions/queue/stats.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { layPastDays } from '../support/partitions.ts';
import { costOf, type PlanMode } from './pages.ts';

const MANY = 30_000;
const DAYS = 6;

/** Rows of a kind and a status that is rare, or old, or nobody's, under a great many others. */
async function loadAll(db: Db, many = MANY): Promise<void> {
  const idAt = (age: string) =>
    `overlay(millrace.uuidv7()::text PLACING substr(millrace.uuidv7_floor(now() - ${age})::text, 1, 13) FROM 1)::uuid`;
  // The first 30% are of the kind "old": a listing of it must not read what is newer.
  const kind = `CASE WHEN i <= $1 * 3 / 10 THEN 'old' WHEN i = $1 / 2 THEN 'rare' ELSE 'k' || i % 5 END`;
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, run_at, priority)
     SELECT ${idAt(`make_interval(secs => ($1 - i) * 0.01)`)}, ${kind}, now() + make_interval(secs => i % 100 - 50), i % 11 - 5
     FROM generate_series(1, $1::int) i`,
    [many],
  );
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = 1, locked_by = gen_random_uuid(), locked_until = now() + interval '1 minute'
     WHERE id IN (SELECT id FROM millrace.live_jobs WHERE kind LIKE 'k%' ORDER BY id LIMIT 20)`,
  );
  await db.query(
    `INSERT INTO millrace.finished_jobs
       (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
     SELECT ${idAt(`make_interval(secs => ($1 - i) * ${(DAYS * 86_400) / many})`)}, ${kind}, 'default',
            CASE WHEN i <= 200 THEN 'cancelled' ELSE 'completed' END, 0, 1, 5, 0, now(), now(), 0
     FROM generate_series(1, $1::int) i`,
    [many],
  );
  await db.query(
    `INSERT INTO millrace.dead_jobs
       (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
     SELECT ${idAt(`make_interval(secs => ($1 - i) * 5)`)}, ${kind}, 'default', 0, 5, 5, 0, now(), now(), 0, '{}'
     FROM generate_series(1, $1::int) i`,
    [many / 2],
  );
  await db.query(
    `INSERT INTO millrace.counter_deltas (kind, event, n) SELECT 'k' || i % 5, 'enqueued', 1 FROM generate_series(1, 500) i`,
  );
}

const FILTERS: Omit<Listing, 'limit'>[] = [
  {},
  ...['old', 'rare', 'k3', 'nobody'].map((kind) => ({ kind })),
  ...(['pending', 'processing', 'completed', 'cancelled', 'dead'] as const).flatMap((status) => [
    { status },
    { status, kind: 'old' },
    { status, kind: 'rare' },
    { status, kind: 'k1' },
  ]),
];

/** Pages of tables and indexes: 50 jobs take 450 at most, 8 for each that is shown, the rest for the probes. */
const LIST_PAGES = 550;

async function check(db: Db, client: pg.Client): Promise<void> {
  for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
    for (const filters of FILTERS) {
      const cost = await costOf(client, mode, (on) => list(on, { ...filters, limit: 50 }));
      expect.soft(cost.pages, `${JSON.stringify(filters)}, ${mode}: pages`).toBeLessThan(LIST_PAGES);
      // Partitions that are empty or nearly may be read whole.
      expect.soft(cost.rowsScanned, `${JSON.stringify(filters)}, ${mode}: rows scanned`).toBeLessThan(100);
    }
    const [job] = (await list(db, { kind: 'old', status: 'completed', limit: 1 })).jobs;
    const one = await costOf(client, mode, (on) => get(on, job?.id as string, { payload: true, result: true }));
    // It reads 10; the others are what the planner looks at.
    expect.soft(one.pages, `get, ${mode}`).toBeLessThan(100);
    const ready = await costOf(client, mode, (on) => readiness(on));
    expect.soft(ready.pages, `readiness, ${mode}`).toBeLessThan(200);
    const counts = await costOf(client, mode, (on) => stats(on));
    // A thousand dead jobs of each kind, and all counters, are read one by one.
    expect.soft(counts.pages, `stats, ${mode}: pages`).toBeLessThan(6000);
  }
}

describe('whatever lies around, a page, a job, the counts and the state are read by few pages', () => {
  // In this order: statistics outlive a TRUNCATE, partitions a test.
  test('without statistics', async ({ db, databaseUrl }) => {
    await layPastDays(db, DAYS);
    await loadAll(db);
    await connected(databaseUrl, (client) => check(db, client));
  });

  test('with statistics from when everything was running, or one kind', async ({ db, databaseUrl }) => {
    await loadAll(db, 2000);
    await db.query(
      `UPDATE millrace.live_jobs
       SET kind = 'rare', status = 'processing', attempts = 1, locked_by = id, locked_until = now()`,
    );
    await db.query(`UPDATE millrace.finished_jobs SET kind = 'rare', status = 'cancelled'`);
    await db.query(`UPDATE millrace.dead_jobs SET kind = 'rare'`);
    await db.query('ANALYZE');
    for (const table of ['live_jobs', 'finished_jobs', 'dead_jobs']) await db.query(`DELETE FROM millrace.${table}`);
    await db.query('VACUUM');
    await loadAll(db);
    await connected(databaseUrl, (client) => check(db, client));
  });

  test('with statistics of what is there', async ({ db, databaseUrl }) => {
    await loadAll(db);
    await db.query('ANALYZE');
    await connected(databaseUrl, (client) => check(db, client));
  });
});

async function connected<T>(url: string, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return body(client).finally(() => client.end());
}
