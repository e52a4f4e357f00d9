import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { handler } from '../../functions/reap/handler.ts';
import { LeaseMark } from '../../functions/reap/lease-mark.ts';
import { ContractsUnreadableError } from '../../functions/reap/take-back.ts';
import { tick as tickOf } from '../../functions/reap/tick.ts';
import { silent } from '../lifecycle/ground.ts';
import { withSessions } from '../queue/sessions.ts';
import { counterOf, deadJob, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { test as base, beforeEach, describe, expect, vi } from '../support/fixtures.ts';
import { context } from './api.ts';
import { publishedMetrics, written } from './emf.ts';

const test = base.extend('tick', async ({ databaseUrl }) => {
  process.env.DATABASE_URL = databaseUrl;
  return (remainingMs = 60_000) => handler({}, context(remainingMs));
});

beforeEach(() => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});

function tickOptions(db: Db) {
  const contracts = async () => ({});
  return { db, log: silent, contracts, keepDays: 7, deadKeepDays: 30, keyKeepDays: 1, timeLeft: () => true };
}

describe('reap', () => {
  test('takes expired jobs back, keeps the tables small, and says what it did', async ({ tick, db }) => {
    const lost = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    const running = await processingJob(db);
    const old = await deadJob(db, { finishedSecondsAgo: 31 * 86_400 });
    const recent = await deadJob(db, { finishedSecondsAgo: 29 * 86_400 });

    const summary = await tick();

    expect(summary).toMatchObject({ reaped: 1, blocked: 0, pruned: 1, postponed: false });
    expect(summary.rolledUp).toBeGreaterThan(0);
    expect(await statusOf(db, lost.id)).toBe('pending');
    expect(await statusOf(db, running.id)).toBe('processing');
    expect(await statusOf(db, old.id)).toBeUndefined();
    expect(await statusOf(db, recent.id)).toBe('dead');
    expect(await counterOf(db, 'test.kind', 'reaped')).toBe(1);
    expect((await db.query('SELECT count(*)::int AS n FROM millrace.counter_deltas')).rows).toEqual([{ n: 0 }]);
  });

  test('takes back more than one batch', async ({ tick, db }) => {
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until)
       SELECT millrace.uuidv7(), 'many', 'processing', 1, gen_random_uuid(), clock_timestamp() - interval '1 second'
       FROM generate_series(1, 1001)`,
    );
    expect(await tick()).toMatchObject({ reaped: 1001 });
  });

  test('takes back what ended long before the first tick', async ({ db }) => {
    const jobs = [1, 3600, 400 * 86_400].map((leaseExpiredSecondsAgo) => processingJob(db, { leaseExpiredSecondsAgo }));
    const ids = (await Promise.all(jobs)).map(({ id }) => id);
    expect(await tickOf({ ...tickOptions(db), mark: new LeaseMark() })).toMatchObject({ done: { reaped: 3 } });
    expect(await Promise.all(ids.map((id) => statusOf(db, id)))).toEqual(['pending', 'pending', 'pending']);
  });

  test.for([
    ['not before it is time', new LeaseMark(), 0],
    ['when it is time', new LeaseMark(0), 1],
  ] as const)('a lease that was set back by hand is found %s', async ([, mark, reaped], { db }) => {
    await tickOf({ ...tickOptions(db), mark });
    await processingJob(db, { leaseExpiredSecondsAgo: 3600 });
    expect(await tickOf({ ...tickOptions(db), mark })).toMatchObject({ done: { reaped } });
  });

  test('where time ran out the next tick goes on', async ({ db }) => {
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until)
       SELECT millrace.uuidv7(), 'many', 'processing', 1, gen_random_uuid(), clock_timestamp() - interval '1 minute'
       FROM generate_series(1, 1001)`,
    );
    const options = { ...tickOptions(db), mark: new LeaseMark() };
    let statements = 5;
    expect(await tickOf({ ...options, timeLeft: () => statements-- > 0 })).toMatchObject({ done: { reaped: 1000 } });
    expect(await tickOf(options)).toMatchObject({ done: { reaped: 1 } });
  });

  test('what somebody held is looked for by the next tick, however long ago it ended', async ({ db, databaseUrl }) => {
    const { id } = await processingJob(db, { leaseExpiredSecondsAgo: 3600 });
    const options = { ...tickOptions(db), mark: new LeaseMark() };
    await withSessions(databaseUrl, async (holder) => {
      await holder.begin();
      await holder.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR UPDATE', [id]);
      expect(await tickOf(options)).toMatchObject({ done: { reaped: 0 }, failures: [] });
      await holder.rollback();
    });
    expect(await tickOf(options)).toMatchObject({ done: { reaped: 1 } });
  });

  test('says how many keys, progress rows and rows of the log it has pruned', async ({ tick, db }) => {
    await db.query(
      `INSERT INTO millrace.idempotency_keys (kind, key, job_id, checked_at)
       SELECT 'test.kind', 'k' || n, gen_random_uuid(), now() - interval '8 days' FROM generate_series(1, 2001) n`,
    );
    await db.query(
      `INSERT INTO millrace.job_progress (id, fraction, updated_at)
       SELECT gen_random_uuid(), 1, now() - interval '1 hour' FROM generate_series(1, 3)`,
    );
    await db.query(
      `INSERT INTO millrace.operator_log (at, action, target, count) VALUES (now() - interval '2 years', 'pause', '{}', 1)`,
    );
    expect(await tick()).toMatchObject({ pruned: 0, prunedKeys: 2001, prunedProgress: 3, prunedLog: 1 });
    expect(written()).toContainEqual(expect.objectContaining({ message: 'tick ended', pruned_keys: 2001 }));
  });

  test('keeps keys for as long as it is told', async ({ tick, db }) => {
    vi.stubEnv('IDEMPOTENCY_RETENTION_DAYS', '30');
    await db.query(
      `INSERT INTO millrace.idempotency_keys (kind, key, job_id, checked_at)
       SELECT 'test.kind', 'k' || days, gen_random_uuid(), now() - make_interval(days => days) FROM unnest('{8,31}'::int[]) days`,
    );
    expect(await tick()).toMatchObject({ prunedKeys: 1 });
    vi.unstubAllEnvs();
  });

  test('takes the others back though somebody’s open transaction holds the unique keys of 600', async ({
    tick,
    db,
  }) => {
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until, unique_key)
       SELECT millrace.uuidv7(), 'held', 'processing', 1, gen_random_uuid(), clock_timestamp() - interval '2 seconds', 'k' || n
       FROM generate_series(1, 600) n`,
    );
    const free = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    const producer = await db.connect();
    try {
      await producer.query('BEGIN');
      await producer.query(
        `INSERT INTO millrace.live_jobs (id, kind, unique_key) SELECT millrace.uuidv7(), 'held', 'k' || n FROM generate_series(1, 600) n`,
      );
      expect(await tick()).toMatchObject({ reaped: 1, blocked: 600 });
      expect(await statusOf(db, free.id)).toBe('pending');
      await producer.query('COMMIT');
    } finally {
      producer.release();
    }
    expect(await tick()).toMatchObject({ reaped: 600, blocked: 0 });
    expect(await counterOf(db, 'held', 'cancelled')).toBe(600);
  });

  test('what was given back before is no reap', async ({ tick, db }) => {
    const parked = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    await db.query('UPDATE millrace.live_jobs SET returned_by = locked_by');
    expect(await tick()).toMatchObject({ reaped: 0 });
    expect(await statusOf(db, parked.id)).toBe('pending');
    expect(written().filter(({ message }) => message === 'job.reaped')).toEqual([]);
  });

  test('stops reaping when its time runs out', async ({ tick, db }) => {
    const { id } = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    expect(await tick(10_000)).toMatchObject({ reaped: 0 });
    expect(await statusOf(db, id)).toBe('processing');
  });

  test.for([
    ['throws', () => Promise.reject(new Error('no such module')), 'no such module'],
    [
      'names no kind as onDead',
      async () => ({ 'test.kind': defineJob({ payload: z.unknown(), onDead: 'nowhere' }) }),
      'onDead of "test.kind" is "nowhere", which is no kind',
    ],
  ] as const)(
    'with contracts of which one %s, jobs come back, and those that would die wait for a tick that knows more',
    async ([, contracts, why], { db }) => {
      const lost = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
      const dying = await processingJob(db, { leaseExpiredSecondsAgo: 1, attempts: 5 });
      const old = await deadJob(db, { finishedSecondsAgo: 31 * 86_400 });
      const options = { ...tickOptions(db), mark: new LeaseMark() };
      const { done, failures } = await tickOf({ ...options, contracts });
      expect(done).toMatchObject({ reaped: 1, buried: 0, pruned: 1 });
      const error = { name: ContractsUnreadableError.name, message: expect.stringContaining(why) };
      expect(failures).toMatchObject([{ part: 'reap', error }]);
      const statuses = () => Promise.all([lost, dying, old].map(({ id }) => statusOf(db, id)));
      expect(await statuses()).toEqual(['pending', 'processing', undefined]);
      const readable = {
        'test.kind': defineJob({ payload: z.unknown(), onDead: 'told' }),
        told: defineJob({ payload: z.unknown() }),
      };
      expect(await tickOf({ ...options, contracts: async () => readable })).toMatchObject({
        done: { buried: 1 },
        failures: [],
      });
      const { rows } = await db.query(`SELECT payload ->> 'id' AS id FROM millrace.jobs WHERE kind = 'told'`);
      expect(rows).toEqual([{ id: dying.id }]);
    },
  );

  test('a part that fails does not keep the others from running, and is told at the end', async ({ tick, db }) => {
    await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    const old = await deadJob(db, { finishedSecondsAgo: 31 * 86_400 });
    await db.query('ALTER TABLE millrace.counters RENAME TO counters_away');
    try {
      await expect(tick()).rejects.toThrow(/^these parts of the tick failed: rollUp, measureJobs$/);
    } finally {
      await db.query('ALTER TABLE millrace.counters_away RENAME TO counters');
    }
    expect(await statusOf(db, old.id)).toBeUndefined();
    expect(written()).toContainEqual(expect.objectContaining({ message: 'tick ended', reaped: 1, pruned: 1 }));
    expect(written()).toContainEqual(expect.objectContaining({ level: 'error', part: 'rollUp' }));
    expect(publishedMetrics().map(({ name }) => name)).toEqual([
      'JobsReaped',
      'JobsBuried',
      'KindsUnclaimed',
      'XminAge',
    ]);
  });

  test('hands CloudWatch what there is, and what it did', async ({ tick, db }) => {
    vi.stubEnv('JOB_QUEUE', 'Shop-Jobs');
    // Of a kind that the ticks before have not seen: they begin where they saw the first job of a kind.
    await pendingJob(db, { dueInSeconds: -90, kind: 'never.seen' });
    await pendingJob(db, { dueInSeconds: 90, kind: 'not.due' });
    await pendingJob(db, { kind: 'claimed', queue: 'served' });
    await openPosition(db, 'served', new Map([['claimed', 30]]));
    await processingJob(db, { leaseExpiredSecondsAgo: 1, kind: 'claimed' });
    await processingJob(db, { leaseExpiredSecondsAgo: 1, attempts: 5, maxAttempts: 5 });
    await deadJob(db);
    await tick();
    const metrics = publishedMetrics();
    expect(metrics).toEqual(
      [
        ['JobsReaped', 2, 'Count'],
        ['JobsBuried', 1, 'Count'],
        ['JobsPending', 4, 'Count'],
        ['JobsDead', 2, 'Count'],
        ['OldestDueAge', expect.any(Number), 'Seconds'],
        // Nobody claims never.seen; what was taken back is not due yet.
        ['KindsUnclaimed', 1, 'Count'],
        ['XminAge', expect.any(Number), 'Count'],
      ].map(([name, value, unit]) => ({ name, value, unit, queue: 'Shop-Jobs' })),
    );
    expect(metrics.find(({ name }) => name === 'OldestDueAge')?.value).toBeGreaterThan(89);
    vi.unstubAllEnvs();
  });

  test('tells how far back somebody holds the horizon', async ({ tick, db }) => {
    const xminAge = async () => {
      await tick();
      return publishedMetrics().findLast(({ name }) => name === 'XminAge')?.value ?? Number.NaN;
    };
    const reader = await db.connect();
    try {
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await reader.query('SELECT FROM millrace.live_jobs');
      for (let n = 0; n < 30; n++) await pendingJob(db);
      expect(await xminAge()).toBeGreaterThanOrEqual(30);
    } finally {
      await reader.query('ROLLBACK');
      reader.release();
    }
  });

  test('throws when the database cannot be reached', async () => {
    process.env.DATABASE_URL = 'postgres://nobody@127.0.0.1:1/nowhere';
    vi.resetModules();
    const fresh = await import('../../functions/reap/handler.ts');
    await expect(fresh.handler({}, context())).rejects.toThrow(
      'reap, rollUp, upkeep, prune, pruneMarks, measureJobs, measureClaims, measureHorizon',
    );
  });
});
