import pg from 'pg';
import { list } from '../../functions/queue/list.ts';
import type { Filter } from '../../functions/queue/list-filter.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { layPastDays } from '../support/partitions.ts';
import { costOf } from './pages.ts';

const DAYS = 6;
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);

/** Of tables and indexes, for 50 jobs: see read-plans.test.ts. */
const LIST_PAGES = 800;

describe('a page of a subject', () => {
  test('looks at few pages if a third of the newest jobs are about it, of however many kinds, or if ten jobs are', async ({
    db,
    databaseUrl,
  }) => {
    await layPastDays(db, DAYS);
    const made = `
      SELECT overlay(millrace.uuidv7()::text
                     PLACING substr(millrace.uuidv7_floor(now() - make_interval(secs => (6000 - i) * ${(DAYS * 86_400) / 6000}))::text, 1, 13)
                     FROM 1)::uuid AS id, 'k' || i % 50 AS kind,
             CASE WHEN i % 3 = 0 THEN 'tenant' ELSE 'invoice:' || i / 10 END AS subject, i % 60 = 6 AS cancelled
      FROM generate_series(1, 6000) i`;
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, subject, run_at) SELECT id, kind, subject, now() FROM (${made}) made`,
    );
    await db.query(
      `INSERT INTO millrace.finished_jobs
         (id, kind, subject, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
       SELECT id, kind, subject, 'default', CASE WHEN cancelled THEN 'cancelled' ELSE 'completed' END, 0, 1, 5, 0, now(), now(), 0
       FROM (${made}) made`,
    );
    await db.query(
      `INSERT INTO millrace.dead_jobs
         (id, kind, subject, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
       SELECT id, kind, subject, 'default', 0, 5, 5, 0, now(), now(), 0, '{}' FROM (${made}) made`,
    );
    await db.query('VACUUM ANALYZE');
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      for (const status of [undefined, 'pending', 'completed', 'cancelled', 'dead'] as const) {
        for (const time of [
          {},
          { createdAfter: ago(73), createdBefore: ago(72) },
          { createdBefore: ago(24 * DAYS - 1) },
        ]) {
          const filter: Filter = { subject: 'tenant', status, ...time };
          const page = await costOf(client, 'force_generic_plan', (on) => list(on, { ...filter, limit: 50 }));
          expect.soft(page.pages, `${JSON.stringify(filter)}: pages`).toBeLessThan(LIST_PAGES);
          // 204 of the subject and the newest 204, from each of three tables; those of the page once more; one from each partition.
          expect.soft(page.entries, `${JSON.stringify(filter)}: entries`).toBeLessThan(1300);
        }
      }
      const one = await costOf(client, 'force_generic_plan', (on) => list(on, { subject: 'invoice:77', limit: 50 }));
      expect.soft(one.pages, 'a subject of ten: pages').toBeLessThan(250);
      expect.soft(one.entries, 'a subject of ten: entries').toBeLessThan(100);
    } finally {
      await client.end();
    }
  });
});
