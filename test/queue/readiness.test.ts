import { insertJob } from '../../functions/queue/enqueue.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { pause, resume } from '../../functions/queue/pause.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

describe('readiness', () => {
  test('names kinds and queues that nobody claims, until somebody does', async ({ db }) => {
    await insertJob(db, { kind: 'a', payload: 1 });
    await insertJob(db, { kind: 'b', payload: 1, queue: 'side' });
    await insertJob(db, { kind: 'later', payload: 1, delaySeconds: 60 });
    await processingJob(db, { kind: 'running', queue: 'gone' });
    expect(await readiness(db)).toMatchObject({
      unclaimedKinds: ['a', 'b'],
      unclaimedQueues: ['default', 'side'],
      lastWorkerAt: null,
    });
    await openPosition(db, 'default', new Map([['a', 30]]));
    expect(await readiness(db)).toMatchObject({
      unclaimedKinds: ['b'],
      unclaimedQueues: ['side'],
      kindsUnclaimed: 1,
      lastWorkerAt: expect.stringMatching(/Z$/),
    });
    await openPosition(db, 'side', new Map([['b', 30]]));
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: [], unclaimedQueues: [], kindsUnclaimed: 0 });
    await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '121 seconds'`);
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: ['a', 'b'], unclaimedQueues: ['default', 'side'] });
  });

  test('a kind whose oldest due job lies in a queue of workers that lack it is claimed by nobody', async ({ db }) => {
    await openPosition(db, 'quick', new Map([['short', 30]]));
    await openPosition(
      db,
      'default',
      new Map([
        ['short', 30],
        ['long', 600],
      ]),
    );
    await insertJob(db, { kind: 'long', payload: 1 });
    await insertJob(db, { kind: 'short', payload: 1, queue: 'quick' });
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: [], unclaimedQueues: [] });
    await pendingJob(db, { kind: 'long', queue: 'quick', dueInSeconds: -1 });
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: ['long'], unclaimedQueues: [], kindsUnclaimed: 1 });
  });

  test('a kind whose oldest due job lies in a queue of no worker is not to blame, and counts', async ({ db }) => {
    await openPosition(db, 'default', new Map([['a', 30]]));
    await pendingJob(db, { kind: 'a', queue: 'mispelt', dueInSeconds: -1 });
    await insertJob(db, { kind: 'a', payload: 1 });
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: [], unclaimedQueues: ['mispelt'], kindsUnclaimed: 1 });
  });

  test('tells the lag, of suspects too', async ({ db }) => {
    expect(await readiness(db)).toMatchObject({ lagSeconds: 0 });
    await pendingJob(db, { dueInSeconds: 100 });
    expect(await readiness(db)).toMatchObject({ lagSeconds: 0 });
    await pendingJob(db, { dueInSeconds: -100, reaps: 3 });
    expect((await readiness(db)).lagSeconds).toBeGreaterThan(99);
  });

  test('names what is paused now', async ({ db }) => {
    await pause(db, 'queue', 'default');
    await pause(db, 'kind', 'a');
    await pause(db, 'kind', 'b');
    await resume(db, 'kind', 'a');
    expect((await readiness(db)).paused).toEqual([
      { scope: 'kind', name: 'b' },
      { scope: 'queue', name: 'default' },
    ]);
  });
});
