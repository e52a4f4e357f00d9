import { randomUUID } from 'node:crypto';
import { claimSuspect } from '../../functions/queue/claim-suspect.ts';
import type { Db } from '../../functions/queue/db.ts';
import { reap } from '../../functions/queue/reap.ts';
import { expireLease, liveRowOf, pendingJob, processingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimedIds, claimSome, KINDS } from './claiming.ts';
import { withSessions } from './sessions.ts';

const suspect = { reaps: 2, attempts: 2 };
const origin = { requestId: 'request-7', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
const ask = (db: Db, token = randomUUID()) => claimSuspect(db, { token, queue: 'default', kinds: KINDS });

test('a job that was reaped twice is claimed by nobody but those who ask for a suspect', async ({ db }) => {
  const job = await processingJob(db, { leaseExpiredSecondsAgo: 1, reaps: 1, attempts: 2 });
  await reap(db, { limit: 10 });
  await db.query('UPDATE millrace.live_jobs SET run_at = clock_timestamp()');
  expect(await claimedIds(db)).toEqual([]);
  expect(await claimSome(db)).toMatchObject({ suspectDue: true });
  const token = randomUUID();
  expect(await ask(db, token)).toMatchObject({ id: job.id, token, attempts: 3, reaps: 2, payload: {} });
  const { rows } = await db.query(
    'SELECT extract(epoch FROM locked_until - started_at)::float8 AS lease FROM millrace.live_jobs',
  );
  expect(rows[0]?.lease).toBeCloseTo(30, 2);
  expect(await claimSome(db)).toMatchObject({ suspectDue: false });
});

test('a suspect tells which request put it in', async ({ db }) => {
  await pendingJob(db, { ...suspect, ...origin });
  expect(await ask(db)).toMatchObject(origin);
});

test('the longest due suspect comes first, one at a time', async ({ db }) => {
  const later = await pendingJob(db, { ...suspect, dueInSeconds: -1, priority: 5 });
  const sooner = await pendingJob(db, { ...suspect, dueInSeconds: -2 });
  expect([(await ask(db))?.id, (await ask(db))?.id, await ask(db)]).toEqual([sooner.id, later.id, undefined]);
});

test('what lies before the mark is passed over, as far as it did not just come in', async ({ db }) => {
  const { rows } = await db.query<{ mark: string }>(`SELECT (now() - interval '1 minute')::text AS mark`);
  await pendingJob(db, { ...suspect, dueInSeconds: -61 });
  const behind = await pendingJob(db, { ...suspect, dueInSeconds: -59 });
  const request = { queue: 'default', kinds: KINDS };
  const from = rows[0]?.mark as string;
  expect(await claimSuspect(db, { ...request, token: randomUUID(), from })).toMatchObject({ id: behind.id });
  expect(await claimSuspect(db, { ...request, token: randomUUID(), from })).toBeUndefined();
  const late = await pendingJob(db, { ...suspect, dueInSeconds: -1 });
  const ahead = '2999-01-01T00:00:00Z';
  expect(await claimSuspect(db, { ...request, token: randomUUID(), from: ahead })).toMatchObject({ id: late.id });
});

test('what is no suspect, not due, of another kind or queue stays where it is', async ({ db }) => {
  await pendingJob(db, { reaps: 1, attempts: 1 });
  await pendingJob(db, { ...suspect, dueInSeconds: 5 });
  await pendingJob(db, { ...suspect, kind: 'foreign.kind' });
  await pendingJob(db, { ...suspect, queue: 'other' });
  expect(await ask(db)).toBeUndefined();
});

test('two workers never get the same suspect', async ({ db, databaseUrl }) => {
  const [first, second] = [await pendingJob(db, suspect), await pendingJob(db, suspect)];
  await withSessions(databaseUrl, async (one) => {
    await one.begin();
    expect(await ask(one)).toMatchObject({ id: first.id });
    expect(await ask(db)).toMatchObject({ id: second.id });
    await one.commit();
  });
});

test('one that somebody holds is not told of, so that nobody brings all else to an end for it', async ({
  db,
  databaseUrl,
}) => {
  const held = await pendingJob(db, { ...suspect, dueInSeconds: -2 });
  await withSessions(databaseUrl, async (holder) => {
    await holder.begin();
    await holder.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR KEY SHARE', [held.id]);
    expect(await claimSome(db)).toMatchObject({ suspectDue: false });
    const free = await pendingJob(db, suspect);
    expect(await claimSome(db)).toMatchObject({ suspectDue: true });
    expect(await ask(db)).toMatchObject({ id: free.id });
    await holder.commit();
  });
  expect(await claimSome(db)).toMatchObject({ suspectDue: true });
});

test('a suspect that ends its worker again stays one, until its attempts are spent', async ({ db }) => {
  const job = await pendingJob(db, { ...suspect, maxAttempts: 3 });
  await ask(db);
  await expireLease(db, job.id);
  expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, attempt: 3, status: 'dead' }]);
  expect(await liveRowOf(db, job.id)).toBeUndefined();
});
