import { randomUUID } from 'node:crypto';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import { reap } from '../../functions/queue/reap.ts';
import { watch } from '../../functions/queue/watch.ts';
import { processingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';

test('it tells which claims are lost and which are to be cancelled, of all the jobs in flight', async ({ db }) => {
  const [runs, asked, reaped, done] = [
    await processingJob(db),
    await processingJob(db),
    await processingJob(db, { leaseExpiredSecondsAgo: 1 }),
    await processingJob(db),
  ];
  const stale = { id: runs.id, token: randomUUID() };
  await cancel(db, asked.id);
  await reap(db, { limit: 10 });
  await complete(db, [{ ...done, result: 1 }]);
  expect(await watch(db, [runs, asked, reaped, done, stale])).toEqual({
    lost: [reaped.id, done.id, runs.id],
    cancelled: [asked.id],
  });
});

test('a lease that ran out is not lost while nobody has taken the job', async ({ db }) => {
  const job = await processingJob(db, { leaseExpiredSecondsAgo: 60 });
  expect(await watch(db, [job])).toEqual({ lost: [], cancelled: [] });
});

test('with nothing in flight it asks nothing', async () => {
  const db = { query: () => Promise.reject(new Error('asked')) };
  expect(await watch(db, [])).toEqual({ lost: [], cancelled: [] });
});
