import { cancel } from '../../functions/queue/cancel.ts';
import type { Db } from '../../functions/queue/db.ts';
import { reap } from '../../functions/queue/reap.ts';
import { release } from '../../functions/queue/release.ts';
import { retry } from '../../functions/queue/retry.ts';
import {
  counterOf,
  expireLease,
  liveRowOf,
  type MadeJob,
  pendingJob,
  processingJob,
  rowOf,
  statusOf,
} from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { waitsForLock, withSessions } from './sessions.ts';

const uniqueKey = 'invoice:7';
const error = { attempt: 1, name: 'Error', message: 'boom' };
type Claimed = MadeJob<string>;

/** The three ways back, each on jobs that run. They resolve where each job is. */
const WAYS: readonly [string, (db: Db, jobs: readonly Claimed[]) => Promise<unknown[]>, own: readonly unknown[]][] = [
  [
    'retry',
    (db, jobs) =>
      retry(
        db,
        jobs.map((job) => ({ ...job, error, delaySeconds: 0 })),
      ),
    [error],
  ],
  [
    'release',
    (db, jobs) =>
      release(
        db,
        jobs.map((job) => ({ ...job, delaySeconds: 0 })),
      ),
    [],
  ],
  ['reap', reaped, [expect.objectContaining({ name: 'LeaseExpired' })]],
];

async function reaped(db: Db, jobs: readonly Claimed[]): Promise<unknown[]> {
  for (const { id } of jobs) await expireLease(db, id);
  return reap(db, { limit: 10 });
}

const superseded = (twin: string) =>
  expect.objectContaining({
    attempt: 1,
    name: 'Superseded',
    message: `job ${twin} has the same unique key and is pending: it runs in place of this one`,
  });

describe.for(WAYS)('%s', ([, comeBack, own]) => {
  test('beside a pending job of its key it ends cancelled and says which one runs in its place', async ({ db }) => {
    const job = await processingJob(db, { uniqueKey, subject: 'x', requestId: 'r', payload: { n: 1 } });
    const twin = await pendingJob(db, { uniqueKey });
    const [before, twinBefore] = [await rowOf(db, job.id), await liveRowOf(db, twin.id)];
    expect(await comeBack(db, [job])).toMatchObject([{ id: job.id, status: 'cancelled' }]);
    expect(await rowOf(db, job.id)).toEqual({
      ...before,
      status: 'cancelled',
      locked_until: null,
      locked_by: own[0] === error || own.length === 0 ? job.token : null,
      reaps: own[0] === error || own.length === 0 ? 0 : 1,
      finished_at: expect.any(Date),
      errors: [...own, superseded(twin.id)],
    });
    expect(await liveRowOf(db, twin.id)).toEqual(twinBefore);
    expect(await counterOf(db, 'test.kind', 'cancelled')).toBe(1);
    expect((await counterOf(db, 'test.kind', 'retried')) + (await counterOf(db, 'test.kind', 'released'))).toBe(0);
  });

  test('it goes back beside a running one, one of another kind and one of another key', async ({ db }) => {
    const job = await processingJob(db, { uniqueKey });
    await processingJob(db, { uniqueKey });
    for (const kind of ['a.kind', 'z.kind']) await pendingJob(db, { uniqueKey, kind });
    await pendingJob(db, { uniqueKey: 'invoice:8' });
    await pendingJob(db);
    expect(await comeBack(db, [job])).toMatchObject([{ id: job.id, status: 'pending' }]);
  });

  test('jobs without a key do not know each other', async ({ db }) => {
    const jobs = [await processingJob(db), await processingJob(db), await processingJob(db)];
    await pendingJob(db);
    expect(await comeBack(db, jobs)).toMatchObject([
      { status: 'pending' },
      { status: 'pending' },
      { status: 'pending' },
    ]);
  });

  test('of several that come back together the newest stays, whose payload is the newest', async ({ db }) => {
    const [oldest, newest, middle] = [
      await processingJob(db, { uniqueKey, createdSecondsAgo: 30 }),
      await processingJob(db, { uniqueKey, createdSecondsAgo: 10 }),
      await processingJob(db, { uniqueKey, createdSecondsAgo: 20 }),
    ];
    const other = await processingJob(db, { uniqueKey: 'invoice:8' });
    await comeBack(db, [oldest, newest, middle, other]);
    expect(await Promise.all([oldest, newest, middle, other].map(({ id }) => statusOf(db, id)))).toEqual([
      'cancelled',
      'pending',
      'cancelled',
      'pending',
    ]);
    for (const { id } of [oldest, middle]) {
      expect(await rowOf(db, id)).toMatchObject({ errors: [...own, superseded(newest.id)] });
    }
  });

  test('one that was to be cancelled stands in nobody’s way, and ends for that reason', async ({ db }) => {
    const newest = await processingJob(db, { uniqueKey, cancelRequested: true });
    const job = await processingJob(db, { uniqueKey, createdSecondsAgo: 10 });
    await comeBack(db, [job, newest]);
    expect(await statusOf(db, job.id)).toBe('pending');
    expect(await rowOf(db, newest.id)).toMatchObject({ status: 'cancelled', errors: own });
  });

  test('a twin that commits meanwhile is seen, and the job gives way to it', async ({ db, databaseUrl }) => {
    const job = await processingJob(db, { uniqueKey });
    await expireLease(db, job.id);
    await withSessions(databaseUrl, async (producer, worker) => {
      await producer.begin();
      const twin = await pendingJob(producer, { uniqueKey });
      const answer = comeBack(worker, [job]);
      await waitsForLock(producer, worker);
      await producer.commit();
      await answer;
      // Had the commit taken longer than it has patience, the job would wait for the reaper.
      await reap(db, { limit: 10 });
      expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled', errors: [...own, superseded(twin.id)] });
    });
  });

  test('a twin that is rolled back was never there', async ({ db, databaseUrl }) => {
    const job = await processingJob(db, { uniqueKey });
    await expireLease(db, job.id);
    await withSessions(databaseUrl, async (producer, worker) => {
      await producer.begin();
      await pendingJob(producer, { uniqueKey });
      const answer = comeBack(worker, [job]);
      await waitsForLock(producer, worker);
      await producer.rollback();
      await answer;
      await reap(db, { limit: 10 });
      expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', errors: own });
    });
  });

  test('a twin that is claimed meanwhile begins after it: the job gives way or goes back, and one runs', async ({
    db,
    databaseUrl,
  }) => {
    const job = await processingJob(db, { uniqueKey });
    await expireLease(db, job.id);
    await withSessions(databaseUrl, async (claimer, worker) => {
      await claimer.begin();
      const twin = await pendingJob(db, { uniqueKey });
      await claimer.query(
        `UPDATE millrace.live_jobs
         SET status = 'processing', attempts = 1, locked_by = gen_random_uuid(), locked_until = now() + interval '1 min'
         WHERE id = $1`,
        [twin.id],
      );
      expect(await comeBack(worker, [job])).toMatchObject([{ id: job.id, status: 'cancelled' }]);
      await claimer.commit();
      expect(await statusOf(db, twin.id)).toBe('processing');
    });
  });

  test('two workers that want the same keys in opposite orders never fail, and one of each key is pending', async ({
    db,
    databaseUrl,
  }) => {
    for (let round = 0; round < 5; round++) {
      const keys = Array.from({ length: 12 }, (_, n) => `${round}:${n}`);
      const [here, there] = [[] as Claimed[], [] as Claimed[]];
      for (const key of keys) {
        here.push(await processingJob(db, { uniqueKey: key }));
        there.unshift(await processingJob(db, { uniqueKey: key }));
      }
      // Physical order is what an UPDATE follows: the other half comes in reverse.
      await withSessions(databaseUrl, async (one, other) => {
        await Promise.all([comeBack(one, here), comeBack(other, there)]);
        await reap(db, { limit: 100 });
      });
      const { rows } = await db.query(
        `SELECT unique_key, count(*)::int AS n FROM millrace.live_jobs WHERE status = 'pending' AND unique_key = ANY ($1)
         GROUP BY unique_key`,
        [keys],
      );
      expect(rows.map(({ n }) => n)).toEqual(keys.map(() => 1));
    }
  });
});

describe('behind a transaction that stays open', () => {
  const returns = WAYS.filter(([name]) => name !== 'reap');

  /** `body` while somebody has put in a job of that key and not decided yet. */
  async function whileUndecided(
    url: string,
    body: (producer: { commit(): Promise<void>; rollback(): Promise<void>; twin: string }) => Promise<void>,
  ): Promise<void> {
    await withSessions(url, async (producer) => {
      await producer.begin();
      const twin = await pendingJob(producer, { uniqueKey });
      await body({ ...producer, twin: twin.id });
    });
  }

  /** As a worker does it: what could not even be parked, since the machine was busy with other things, is tried again. */
  async function parked(comeBack: (typeof WAYS)[number][1], db: Db, job: Claimed): Promise<void> {
    await expect.poll(() => comeBack(db, [job])).toEqual([{ id: job.id, status: 'pending' }]);
  }

  test.for(returns)(
    '%s does not wait: the job is parked, the others of its batch are pending',
    async ([, comeBack, own], { db, databaseUrl }) => {
      const [job, other] = [await processingJob(db, { uniqueKey, attempts: 1 }), await processingJob(db)];
      await whileUndecided(databaseUrl, async ({ rollback }) => {
        const accepted = [job, other].map(({ id }) => ({ id, status: 'pending' }));
        expect(await comeBack(db, [job, other])).toEqual(expect.arrayContaining(accepted));
        expect(await statusOf(db, other.id)).toBe('pending');
        const parked = await liveRowOf(db, job.id);
        expect(parked).toMatchObject({
          status: 'processing',
          attempts: own.length,
          locked_by: job.token,
          returned_by: job.token,
          errors: own.length > 0 ? own : null,
        });
        // Its answer may be lost, too; and a second time nothing is given back and nothing written.
        expect(await comeBack(db, [job])).toEqual([{ id: job.id, status: 'pending' }]);
        expect(await liveRowOf(db, job.id)).toEqual(parked);
        await rollback();
      });
      expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'returned' }]);
      expect(await liveRowOf(db, job.id)).toMatchObject({
        status: 'pending',
        attempts: own.length,
        reaps: 0,
        locked_by: null,
        locked_until: null,
        errors: own.length > 0 ? own : null,
      });
      expect(await comeBack(db, [job])).toEqual([{ id: job.id, status: 'pending' }]);
      const counts = ['retried', 'released', 'reaped'].map((event) => counterOf(db, 'test.kind', event));
      expect(await Promise.all(counts)).toEqual(own.length > 0 ? [2, 0, 0] : [0, 2, 0]);
    },
  );

  test.for(returns)(
    '%s: a parked job gives way to the twin once that is there',
    async ([, comeBack, own], { db, databaseUrl }) => {
      const job = await processingJob(db, { uniqueKey });
      await whileUndecided(databaseUrl, async ({ commit, twin }) => {
        await parked(comeBack, db, job);
        expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'blocked' }]);
        await commit();
        expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'cancelled' }]);
        expect(await rowOf(db, job.id)).toMatchObject({
          status: 'cancelled',
          reaps: 0,
          errors: [
            ...own,
            expect.objectContaining({ name: 'Superseded', attempt: 1, message: expect.stringContaining(twin) }),
          ],
        });
      });
      expect(await comeBack(db, [job])).toEqual([{ id: job.id, status: 'cancelled' }]);
      expect(await counterOf(db, 'test.kind', 'reaped')).toBe(0);
    },
  );

  test('a parked job keeps its delay', async ({ db, databaseUrl }) => {
    const job = await processingJob(db, { uniqueKey });
    const later = (on: Db) => retry(on, [{ ...job, error, delaySeconds: 3600 }]);
    await whileUndecided(databaseUrl, async ({ rollback }) => {
      await parked(later, db, job);
      await rollback();
    });
    await reap(db, { limit: 10 });
    const { rows } = await db.query(
      `SELECT round(extract(epoch FROM run_at - clock_timestamp()) / 60)::int AS minutes FROM millrace.live_jobs`,
    );
    expect(rows).toEqual([{ minutes: 60 }]);
  });

  test('a parked job can be cancelled', async ({ db, databaseUrl }) => {
    const job = await processingJob(db, { uniqueKey });
    await whileUndecided(databaseUrl, async () => {
      await parked((on) => retry(on, [{ ...job, error, delaySeconds: 0 }]), db, job);
      expect(await cancel(db, job.id)).toBe('requested');
      expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'cancelled' }]);
      expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled', errors: [error] });
    });
  });

  test('the reaper takes the others back, says which one is blocked, and can pass over it', async ({
    db,
    databaseUrl,
  }) => {
    const blocked = await processingJob(db, { uniqueKey, leaseExpiredSecondsAgo: 60 });
    const others: Claimed[] = [];
    for (let n = 1; n <= 3; n++) others.push(await processingJob(db, { leaseExpiredSecondsAgo: n, uniqueKey: `${n}` }));
    await whileUndecided(databaseUrl, async ({ rollback }) => {
      const before = await liveRowOf(db, blocked.id);
      const first = await reap(db, { limit: 3 });
      expect(first.map(({ id, status }) => [id, status])).toEqual([
        [blocked.id, 'blocked'],
        [others[2]?.id, 'pending'],
        [others[1]?.id, 'pending'],
      ]);
      expect(await liveRowOf(db, blocked.id)).toEqual(before);
      expect(await reap(db, { limit: 3, except: [blocked.id] })).toMatchObject([{ id: others[0]?.id }]);
      expect(await reap(db, { limit: 3, except: [blocked.id] })).toEqual([]);
      await rollback();
    });
    expect(await reap(db, { limit: 3 })).toMatchObject([{ id: blocked.id, status: 'pending' }]);
    expect(await rowOf(db, blocked.id)).toMatchObject({
      reaps: 1,
      errors: [expect.objectContaining({ name: 'LeaseExpired' })],
    });
  });
});
