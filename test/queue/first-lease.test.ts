import type { Db } from '../../functions/queue/db.ts';
import { firstLease } from '../../functions/queue/first-lease.ts';
import { reap } from '../../functions/queue/reap.ts';
import { processingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { withSessions } from './sessions.ts';

/** Seconds from the mark to now, of the database's clock. */
async function secondsAgo(db: Db, mark: string | undefined): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    'SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8 AS seconds',
    [mark],
  );
  return rows[0]?.seconds ?? Number.NaN;
}

test('where no lease has run out, the next look begins so long before now as a commit may be late', async ({ db }) => {
  await processingJob(db);
  expect(await secondsAgo(db, await firstLease(db))).toBeLessThan(60);
});

test('it is not beyond a lease that ran out and is still there, such as of a job that somebody holds', async ({
  db,
  databaseUrl,
}) => {
  const job = await processingJob(db, { leaseExpiredSecondsAgo: 100 });
  await withSessions(databaseUrl, async (holder) => {
    await holder.begin();
    await holder.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR UPDATE', [job.id]);
    expect(await reap(db, { limit: 10 })).toEqual([]);
    expect(await secondsAgo(db, await firstLease(db))).toBeGreaterThan(114);
    await holder.rollback();
  });
  const after = await firstLease(db);
  expect(await reap(db, { limit: 10, after })).toMatchObject([{ id: job.id }]);
});

test('what lies before the last look’s mark is not looked at again, unless the clock was set back', async ({ db }) => {
  await processingJob(db, { leaseExpiredSecondsAgo: 100 });
  const { rows } = await db.query<{ recent: string }>(`SELECT (now() - interval '50 s')::text AS recent`);
  expect(await secondsAgo(db, await firstLease(db, rows[0]?.recent))).toBeLessThan(60);
  expect(await secondsAgo(db, await firstLease(db, '2999-01-01T00:00:00Z'))).toBeGreaterThan(114);
});
