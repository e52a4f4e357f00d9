import { randomUUID } from 'node:crypto';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import { releaseTokens } from '../../functions/queue/release-tokens.ts';
import { liveRowOf, pendingJob, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimedIds, claimSome, KINDS } from './claiming.ts';
import { withSessions } from './sessions.ts';

test('what a claim took whose answer was lost goes back with its attempts, and can be claimed at once', async ({
  db,
}) => {
  const waiting = [await pendingJob(db), await pendingJob(db)].map((job) => job.id);
  const token = randomUUID();
  const { position } = await claimSome(db, { token });
  expect((await releaseTokens(db, [token], { kinds: KINDS, seconds: 0 })).sort()).toEqual(waiting.toSorted());
  expect(await liveRowOf(db, waiting[0] as string)).toMatchObject({ status: 'pending', attempts: 0, locked_by: null });
  expect((await claimedIds(db, { position })).sort()).toEqual(waiting.toSorted());
});

test('jobs of other claims stay with them', async ({ db }) => {
  const other = await processingJob(db);
  expect(await releaseTokens(db, [randomUUID()])).toEqual([]);
  expect(await releaseTokens(db, [])).toEqual([]);
  expect(await statusOf(db, other.id)).toBe('processing');
});

test('several tokens are released at once, those that took nothing among them', async ({ db }) => {
  const jobs = [await processingJob(db), await processingJob(db)];
  const released = await releaseTokens(db, [...jobs.map((job) => job.token), randomUUID()]);
  expect(released.sort()).toEqual(jobs.map((job) => job.id).sort());
});

test('a lease that has just run out is released too: nobody ran the job', async ({ db }) => {
  const job = await processingJob(db, { attempts: 2, leaseExpiredSecondsAgo: 20 });
  expect(await releaseTokens(db, [job.token])).toEqual([job.id]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', attempts: 1, reaps: 0 });
});

test('of kinds that are said, only what a claim of the last minute can have taken is looked at', async ({ db }) => {
  const token = randomUUID();
  const recent = await processingJob(db, { token, leaseSeconds: 29 });
  const old = await processingJob(db, { token, leaseExpiredSecondsAgo: 31 });
  const ofOtherKind = await processingJob(db, { token, leaseSeconds: 600 });
  expect(await releaseTokens(db, [token], { kinds: KINDS, seconds: 0 })).toEqual([recent.id]);
  expect((await releaseTokens(db, [token])).sort()).toEqual([old.id, ofOtherKind.id].sort());
});

test('one whose loss lies back for longer, since the database was away, is found all the same', async ({ db }) => {
  const job = await processingJob(db, { leaseExpiredSecondsAgo: 31 });
  expect(await releaseTokens(db, [job.token], { kinds: KINDS, seconds: 0 })).toEqual([]);
  expect(await releaseTokens(db, [job.token], { kinds: KINDS, seconds: 5 })).toEqual([job.id]);
});

test('the lost claim can settle nothing afterwards', async ({ db }) => {
  const job = await processingJob(db);
  await releaseTokens(db, [job.token]);
  expect(await complete(db, [{ ...job, result: 1 }])).toEqual([]);
});

test('a row that somebody holds is left to another look, the others are released', async ({ db, databaseUrl }) => {
  const [held, other] = [await processingJob(db), await processingJob(db)];
  const tokens = [held.token, other.token];
  await withSessions(databaseUrl, async (operator) => {
    await operator.begin();
    await cancel(operator, held.id);
    expect(await releaseTokens(db, tokens)).toEqual([other.id]);
    await operator.rollback();
  });
  expect(await releaseTokens(db, tokens)).toEqual([held.id]);
});
