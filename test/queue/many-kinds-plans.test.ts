import pg from 'pg';
import { counts } from '../../functions/queue/counts.ts';
import type { Db } from '../../functions/queue/db.ts';
import type { Status } from '../../functions/queue/job.ts';
import { list } from '../../functions/queue/list.ts';
import { type Filter, idRange } from '../../functions/queue/list-filter.ts';
import { stats } from '../../functions/queue/stats.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { layPastDays } from '../support/partitions.ts';
import { costOf, type PlanMode } from './pages.ts';

const KINDS = 60;
const DAYS = 6;
/** Of each kind: finished ones in each day, pending ones of the last hour, dead ones. */
const FINISHED_A_DAY = 30;
const PENDING = 60;
const DEAD = 20;

/** All of them about one subject; of the first day all were cancelled. */
async function load(db: Db, finishedADay = FINISHED_A_DAY): Promise<void> {
  await layPastDays(db, DAYS);
  const idAt = (age: string) =>
    `overlay(millrace.uuidv7()::text PLACING substr(millrace.uuidv7_floor(now() - ${age})::text, 1, 13) FROM 1)::uuid`;
  const age = (seconds: number) => `make_interval(secs => ($1 - i) * ${seconds}::float8 / $1)`;
  await db.query(
    `INSERT INTO millrace.finished_jobs
       (id, kind, subject, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
     SELECT ${idAt(age(DAYS * 86_400))}, 'k' || i % ${KINDS}, 'tenant', 'default',
            CASE WHEN i * ${DAYS} <= $1 THEN 'cancelled' ELSE 'completed' END, 0, 1, 5, 0, now(), now(), 0
     FROM generate_series(1, $1::int) i`,
    [DAYS * finishedADay * KINDS],
  );
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, subject, run_at)
     SELECT ${idAt(age(3600))}, 'k' || i % ${KINDS}, 'tenant', now() FROM generate_series(1, $1::int) i`,
    [PENDING * KINDS],
  );
  await db.query(
    `INSERT INTO millrace.dead_jobs
       (id, kind, subject, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
     SELECT ${idAt(age(86_400))}, 'k' || i % ${KINDS}, 'tenant', 'default', 0, 5, 5, 0, now(), now(), 0, '{}'
     FROM generate_series(1, $1::int) i`,
    [DEAD * KINDS],
  );
}

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const ofTenant = (filter: Filter): Filter => ({ subject: 'tenant', ...filter });

/**
 * With what a page and the counts of it may cost. It is more where each kind is asked in each of the days (what is cancelled lies in
 * the oldest alone), and for each entry that is counted a page of the table is looked at, since vacuum has not been there.
 */
const COSTS: readonly (readonly [filter: Filter, page: number, counts: number])[] = [
  [ofTenant({}), 5500, 7000],
  [ofTenant({ status: 'completed' }), 2000, 2000],
  [ofTenant({ status: 'cancelled' }), 5000, 3200],
  [ofTenant({ createdAfter: ago(73), createdBefore: ago(72) }), 2600, 2400],
  [ofTenant({ createdAfter: ago(0.1) }), 2800, 2300],
  [ofTenant({ createdBefore: ago(24 * DAYS - 1) }), 2600, 2400],
  [{ subject: 'nobody' }, 100, 100],
];

describe('however many kinds there are', { timeout: 60_000 }, () => {
  test('pages have what the view has, and counts as many', async ({ own: { pool: db } }) => {
    await load(db, 10);
    await db.query(
      `UPDATE millrace.live_jobs
       SET status = 'processing', attempts = 1, locked_by = id, locked_until = now() + interval '1 minute'
       WHERE id IN (SELECT id FROM millrace.live_jobs ORDER BY id LIMIT 100)`,
    );
    const whole = [
      {},
      { status: 'completed' },
      { status: 'cancelled' },
      { createdAfter: ago(70), createdBefore: ago(60) },
    ];
    const filters: readonly Filter[] = [
      ...(whole as Filter[]).map(ofTenant),
      { status: 'pending' },
      { status: 'processing' },
    ];
    for (const filter of filters) {
      const { first, last } = idRange(filter);
      const { rows } = await db.query<{ id: string; status: Status }>(
        `SELECT id, status
         FROM millrace.jobs
         WHERE id BETWEEN $1 AND $2 AND ($3::text IS NULL OR status = $3) AND ($4::text IS NULL OR subject = $4)
         ORDER BY id DESC`,
        [last, first, filter.status, filter.subject],
      );
      const seen: string[] = [];
      for (let from: string | undefined, more = true; more; more = from !== undefined) {
        const { jobs, next } = await list(db, { ...filter, limit: 199, from });
        seen.push(...jobs.map(({ id }) => id));
        from = next;
      }
      expect(seen, JSON.stringify(filter)).toEqual(rows.map(({ id }) => id));
      for (const [status, n] of Object.entries(await counts(db, filter))) {
        expect(n, JSON.stringify(filter)).toBe(Math.min(1000, rows.filter((row) => row.status === status).length));
      }
    }
  });

  test('few pages are read of a subject, of one status of live jobs, and for the state', async ({
    own: { pool: db, url },
  }) => {
    await load(db);
    await connected(url, async (client) => {
      for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
        for (const [filter, pages, pagesOfCounts] of COSTS) {
          const what = `${JSON.stringify(filter)}, ${mode}`;
          const page = await costOf(client, mode, (on) => list(on, { ...filter, limit: 50 }));
          expect.soft(page.pages, `list ${what}`).toBeLessThan(pages);
          const count = await costOf(client, mode, (on) => counts(on, filter));
          expect.soft(count.pages, `counts ${what}`).toBeLessThan(pagesOfCounts);
        }
        const pending = await costOf(client, mode, (on) => list(on, { status: 'pending', limit: 50 }));
        expect.soft(pending.pages, `list pending, ${mode}`).toBeLessThan(700);
        const all = await costOf(client, mode, (on) => stats(on));
        expect.soft(all.pages, `stats, ${mode}`).toBeLessThan(2500);
        expect.soft(all.entries, `stats, ${mode}: entries`).toBeLessThan(DEAD * KINDS + 4 * KINDS);
      }
    });
  });
});

async function connected<T>(url: string, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return body(client).finally(() => client.end());
}
