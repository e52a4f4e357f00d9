import { closeHeld } from '../../functions/queue/close-held.ts';
import type { Db } from '../../functions/queue/db.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import type { Claim, JobId } from '../../functions/queue/job.ts';
import { pause } from '../../functions/queue/pause.ts';
import { QueueCursor } from '../../functions/queue/queue-cursor.ts';
import { reap } from '../../functions/queue/reap.ts';
import { release } from '../../functions/queue/release.ts';
import { retry } from '../../functions/queue/retry.ts';
import { expireLease, liveRowOf, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { claimAt, KINDS } from './claiming.ts';
import { withSessions } from './sessions.ts';

const uniqueKey = 'customer:7';
const job = { kind: 'test.kind', payload: { n: 1 }, uniqueKey };

/** By a claim that looks back, as each does in a quiet queue. */
async function claimedBy(cursor: QueueCursor, db: Db, limit = 10): Promise<JobId[]> {
  cursor.lookBackNext();
  const jobs = await claimAt(cursor, db, { limit, kinds: new Map([...KINDS, ['paused.kind', 1]]) });
  await cursor.publish(db);
  return jobs.map(({ id }) => id);
}

const cursor = () => new QueueCursor('default', new Map([...KINDS, ['paused.kind', 1]]));

/** As a claim that has seen everything would leave them. */
const MARKS = Array<string>(11).fill('2100-01-01T00:00:00Z');

async function closed(db: Db): Promise<JobId[]> {
  const { rows } = await db.query<{ id: JobId }>('SELECT id FROM millrace.live_jobs WHERE closed_at IS NOT NULL');
  return rows.map(({ id }) => id);
}

test('a job that enqueues hold one after the other is run when those are through that held it at the half minute’s look', async ({
  db,
  databaseUrl,
}) => {
  const { id } = await pendingJob(db, { uniqueKey, dueInSeconds: -5 });
  const looking = cursor();
  await withSessions(databaseUrl, async (first, second) => {
    await first.begin();
    expect(await insertJob(first, job)).toMatchObject({ id, outcome: 'kept' });
    expect(await claimedBy(looking, db)).toEqual([]);
    // It comes before the first has ended, as the next would before this one has.
    await second.begin();
    const next = await insertJob(second, job);
    expect(next).toMatchObject({ outcome: 'created' });
    expect(await claimedBy(looking, db)).toEqual([]);
    await first.commit();
    expect(await claimedBy(looking, db)).toEqual([id]);
    await second.commit();
    expect(await insertJob(db, job)).toMatchObject({ id: next.id, outcome: 'kept' });
    expect(await claimedBy(looking, db)).toEqual([next.id]);
  });
});

test('what a claim has not come to, did not ask for or leaves to others stays as it is', async ({
  db,
  databaseUrl,
}) => {
  const held = await pendingJob(db, { uniqueKey, dueInSeconds: -60 });
  const free = await pendingJob(db, { uniqueKey: 'free', dueInSeconds: -50 });
  await pendingJob(db, { uniqueKey: 'not its turn', dueInSeconds: -40 });
  await pendingJob(db, { uniqueKey: 'later', dueInSeconds: 60 });
  await pendingJob(db, { uniqueKey: 'paused', kind: 'paused.kind', dueInSeconds: -60 });
  await pendingJob(db, { uniqueKey: 'foreign', kind: 'foreign.kind', dueInSeconds: -60 });
  await pendingJob(db, { uniqueKey: 'elsewhere', queue: 'other', dueInSeconds: -60 });
  const plain = await pendingJob(db, { dueInSeconds: -60 });
  await pause(db, 'kind', 'paused.kind');
  await withSessions(databaseUrl, async (first, second) => {
    await first.begin();
    await insertJob(first, job);
    await second.begin();
    await second.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR KEY SHARE', [plain.id]);
    expect(await claimedBy(cursor(), db, 1)).toEqual([free.id]);
    expect(await closed(db)).toEqual([held.id]);
  });
});

test('it lies where the next claims look: not behind a backlog, and not before what they have seen', async ({
  db,
  databaseUrl,
}) => {
  const held = await pendingJob(db, { uniqueKey, dueInSeconds: -100 });
  const backlog: JobId[] = [];
  for (const dueInSeconds of [-90, -80, -70]) backlog.push((await pendingJob(db, { dueInSeconds })).id);
  const looking = cursor();
  await withSessions(databaseUrl, async (producer) => {
    await producer.begin();
    await insertJob(producer, job);
    expect(await claimedBy(looking, db, 1)).toEqual(backlog.slice(0, 1));
    await producer.commit();
  });
  expect(await claimedBy(looking, db, 1)).toEqual([held.id]);
  expect(await claimedBy(looking, db)).toEqual(backlog.slice(1));
});

test('whoever replaces something in it is waited for a moment only, and hinders no other job', async ({
  db,
  databaseUrl,
}) => {
  const { id } = await pendingJob(db, { uniqueKey });
  const other = await pendingJob(db, { uniqueKey: 'customer:8' });
  await withSessions(databaseUrl, async (first, second) => {
    await first.begin();
    await insertJob(first, { ...job, replace: ['payload'] });
    await second.begin();
    await insertJob(second, { ...job, uniqueKey: 'customer:8' });
    expect(await closeHeld(db, 'default', KINDS, MARKS)).toEqual([other.id]);
    await first.commit();
    expect(await closeHeld(db, 'default', KINDS, MARKS)).toEqual([id]);
  });
});

test('of the suspects those are closed that are held, not those that wait for their turn', async ({
  db,
  databaseUrl,
}) => {
  const suspect = { reaps: 2, attempts: 2, dueInSeconds: -5 };
  const { id } = await pendingJob(db, { ...suspect, uniqueKey });
  await pendingJob(db, { ...suspect, uniqueKey: 'customer:8' });
  await pendingJob(db, suspect);
  await withSessions(databaseUrl, async (producer) => {
    await producer.begin();
    await insertJob(producer, job);
    expect(await claimedBy(cursor(), db)).toEqual([]);
    expect(await closed(db)).toEqual([id]);
  });
});

describe('a closed job', () => {
  async function closedJob(db: Db): Promise<JobId> {
    const { id } = await pendingJob(db, { uniqueKey });
    expect(await closeHeld(db, 'default', KINDS, MARKS)).toEqual([id]);
    return id;
  }

  test('stands for the next enqueue only where a running one would', async ({ db }) => {
    const id = await closedJob(db);
    expect(await insertJob(db, { ...job, uniqueWhile: 'live' })).toMatchObject({ id, outcome: 'kept' });
    expect(await insertJob(db, job)).toMatchObject({ outcome: 'created' });
  });

  test('is in no other’s way back', async ({ db }) => {
    await closedJob(db);
    const running = await processingJob(db, { uniqueKey });
    await release(db, [{ ...running, delaySeconds: 0 }]);
    expect(await statusOf(db, running.id)).toBe('pending');
  });

  const error = { attempt: 1, name: 'Error', message: 'boom' };
  test.for<[string, (db: Db, claim: Claim) => Promise<unknown>]>([
    ['retry', (db, claim) => retry(db, [{ ...claim, error, delaySeconds: 0 }])],
    ['release', (db, claim) => release(db, [{ ...claim, delaySeconds: 0 }])],
    ['reap', (db, { id }) => expireLease(db, id).then(() => reap(db, { limit: 1 }))],
  ])('is as any other once it has run: %s', async ([, comeBack], { db }) => {
    const id = await closedJob(db);
    const jobs = await claimAt(cursor(), db, { limit: 1 });
    await comeBack(db, jobs[0] as Claim);
    expect(await liveRowOf(db, id)).toMatchObject({ status: 'pending', closed_at: null });
    expect(await insertJob(db, job)).toMatchObject({ id, outcome: 'kept' });
  });
});
