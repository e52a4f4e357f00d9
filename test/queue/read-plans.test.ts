import pg from 'pg';
import { counts } from '../../functions/queue/counts.ts';
import type { Db } from '../../functions/queue/db.ts';
import { get } from '../../functions/queue/get.ts';
import { list } from '../../functions/queue/list.ts';
import type { Filter } from '../../functions/queue/list-filter.ts';
import { look } from '../../functions/queue/look.ts';
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
  // A third is about one subject: of its 10,000 finished jobs one is of the kind "rare", and 67 are cancelled.
  const subject = `CASE WHEN i % 3 = 0 OR i = $1 / 2 THEN 'tenant' WHEN i % 3 = 1 THEN 'invoice:' || i / 10 END`;
  const kind = `CASE WHEN i <= $1 * 3 / 10 THEN 'old' WHEN i = $1 / 2 THEN 'rare' ELSE 'k' || i % 5 END`;
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, subject, run_at, priority)
     SELECT ${idAt(`make_interval(secs => ($1 - i) * 0.01)`)}, ${kind}, ${subject}, now() + make_interval(secs => i % 100 - 50), i % 11 - 5
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
       (id, kind, subject, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
     SELECT ${idAt(`make_interval(secs => ($1 - i) * ${(DAYS * 86_400) / many})`)}, ${kind}, ${subject}, 'default',
            CASE WHEN i <= 200 THEN 'cancelled' ELSE 'completed' END, 0, 1, 5, 0, now(), now(), 0
     FROM generate_series(1, $1::int) i`,
    [many],
  );
  await db.query(
    `INSERT INTO millrace.dead_jobs
       (id, kind, subject, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
     SELECT ${idAt(`make_interval(secs => ($1 - i) * 5)`)}, ${kind}, ${subject}, 'default', 0, 5, 5, 0, now(), now(), 0, '{}'
     FROM generate_series(1, $1::int) i`,
    [many / 2],
  );
  await db.query(
    `INSERT INTO millrace.counter_deltas (kind, event, n) SELECT 'k' || i % 5, 'enqueued', 1 FROM generate_series(1, 500) i`,
  );
}

const STATUSES = ['pending', 'processing', 'completed', 'cancelled', 'dead'] as const;
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);

const FILTERS: readonly Filter[] = [undefined, 'tenant', 'nobody'].flatMap((subject) =>
  [undefined, 'old', 'rare', 'k1'].flatMap((kind) =>
    [undefined, ...STATUSES].map((status) => ({ subject, kind, status })),
  ),
);
/** An hour days ago, in one of the older partitions; the newest; the oldest. */
const TIMES: readonly Filter[] = FILTERS.filter(
  ({ subject, kind, status }) => subject !== 'nobody' && kind !== 'old' && kind !== 'rare' && status !== 'dead',
).flatMap((filter) => [
  { ...filter, createdAfter: ago(73), createdBefore: ago(72) },
  { ...filter, createdAfter: ago(0.001) },
  { ...filter, createdBefore: ago(24 * DAYS - 1) },
]);

/**
 * Pages of tables and indexes: 50 jobs take 650 at most, 8 for each and 5 for its payload and progress, which the view looks
 * up as well; the rest is for the probes.
 */
const LIST_PAGES = 800;
/** A subject's kinds, 7 here, are stepped through and probed in each of 16 partitions; vacuum has not seen the rows of 14 ranges. */
const SUBJECT_PAGES = LIST_PAGES + 7 * 16 * 6 + 14 * 51;

/**
 * A third of the newest jobs of each table are about the subject `tenant`, and of those that were cancelled: its page is found
 * among them, whatever its kinds.
 */
const isAmongNewest = ({ subject, kind, status }: Filter) =>
  subject === 'tenant' && kind === undefined && status !== 'processing';

async function checkLists(client: pg.Client, mode: PlanMode, filters: readonly Filter[]): Promise<void> {
  for (const filter of filters) {
    const what = `${JSON.stringify(filter)}, ${mode}`;
    const most = filter.subject !== undefined && filter.kind === undefined ? SUBJECT_PAGES : LIST_PAGES;
    const page = await costOf(client, mode, (on) => list(on, { ...filter, limit: 50 }));
    expect.soft(page.pages, `list ${what}: pages`).toBeLessThan(isAmongNewest(filter) ? LIST_PAGES : most);
    // 51 for each range, of which there may be two a kind, and one for each table that is asked for a row.
    expect.soft(page.entries, `list ${what}: entries`).toBeLessThan(1500);
    const count = await costOf(client, mode, (on) => counts(on, filter));
    // The probes, and a thousand rows of each status whose pages vacuum has not seen yet.
    expect.soft(count.entries, `counts ${what}: entries`).toBeLessThan(5 * 1000 + 300);
    expect.soft(count.pages, `counts ${what}: pages`).toBeLessThan(most + 5 * 1000);
    // Partitions that are empty or nearly may be read whole.
    expect.soft(page.rowsScanned + count.rowsScanned, `${what}: rows scanned`).toBeLessThan(100);
  }
}

async function check(db: Db, client: pg.Client): Promise<void> {
  await checkLists(client, 'force_generic_plan', FILTERS);
  await checkLists(client, 'force_custom_plan', TIMES);
  for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
    const [job] = (await list(db, { kind: 'old', status: 'completed', limit: 1 })).jobs;
    const one = await costOf(client, mode, (on) => get(on, job?.id as string, { payload: true, result: true }));
    // It reads 10; the others are what the planner looks at.
    expect.soft(one.pages, `get, ${mode}`).toBeLessThan(100);
    const some = (await list(db, { status: 'pending', limit: 100 })).jobs.map(({ id }) => id);
    const waiting = await costOf(client, mode, (on) => look(on, some));
    expect.soft(waiting.pages, `look, ${mode}`).toBeLessThan(500);
    expect.soft(waiting.rowsScanned, `look, ${mode}: rows scanned`).toBe(0);
    const ready = await costOf(client, mode, (on) => readiness(on));
    expect.soft(ready.pages, `readiness, ${mode}`).toBeLessThan(200);
    const all = await costOf(client, mode, (on) => stats(on));
    // A thousand dead jobs of each kind, and all counters, are read one by one.
    expect.soft(all.pages, `stats, ${mode}: pages`).toBeLessThan(6000);
  }
}

describe('whatever lies around, a page, a job, the counts and the state are read by few pages', {
  timeout: 90_000,
}, () => {
  // In this order: statistics outlive a TRUNCATE, partitions a test.
  test('without statistics', async ({ db, databaseUrl }) => {
    await layPastDays(db, DAYS);
    await loadAll(db);
    await connected(databaseUrl, (client) => check(db, client));
  });

  test('by plans that were made when the tables were empty', async ({ db, databaseUrl }) => {
    await connected(databaseUrl, async (client) => {
      for (const filter of FILTERS) {
        await list(client, { ...filter, limit: 50 });
        await counts(client, filter);
      }
      await loadAll(db);
      await checkLists(client, 'force_generic_plan', FILTERS);
    });
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
