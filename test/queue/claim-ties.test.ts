import { pendingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimSome } from './claiming.ts';

test('jobs that are due at the same moment are claimed once each, as the oldest or as the urgent', async ({ db }) => {
  const put: string[] = [];
  for (const priority of [3, 0, 3, 0, 3, 0, 3, 0, 3, 0]) put.push((await pendingJob(db, { priority })).id);
  await db.query(`UPDATE millrace.live_jobs SET run_at = now() - interval '1 minute'`);
  const claimed = [];
  for (const limit of [4, 4, 4]) claimed.push((await claimSome(db, { limit, aged: 2 })).jobs.map(({ id }) => id));
  expect(claimed.map((ids) => ids.length)).toEqual([4, 4, 2]);
  expect(claimed.flat().sort()).toEqual(put.sort());
});
