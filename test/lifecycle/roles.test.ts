import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { claimSuspect } from '../../functions/queue/claim-suspect.ts';
import { closeHeld } from '../../functions/queue/close-held.ts';
import { complete } from '../../functions/queue/complete.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { counts } from '../../functions/queue/counts.ts';
import { insertJob, insertJobs } from '../../functions/queue/enqueue.ts';
import { enqueue } from '../../functions/queue/enqueue-typed.ts';
import { erase } from '../../functions/queue/erase.ts';
import { fireByHand } from '../../functions/queue/fire-by-hand.ts';
import { get } from '../../functions/queue/get.ts';
import type { AttemptError } from '../../functions/queue/job.ts';
import { list } from '../../functions/queue/list.ts';
import { isDeclared, listSchedules } from '../../functions/queue/list-schedules.ts';
import { look } from '../../functions/queue/look.ts';
import { onDeadJobs } from '../../functions/queue/on-dead.ts';
import { pause, resume } from '../../functions/queue/pause.ts';
import { writeProgress } from '../../functions/queue/progress.ts';
import { prune } from '../../functions/queue/prune.ts';
import { QueueCursor } from '../../functions/queue/queue-cursor.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { reap } from '../../functions/queue/reap.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { countRedrivable, redriveMany } from '../../functions/queue/redrive-many.ts';
import { releaseTokens } from '../../functions/queue/release-tokens.ts';
import { retry } from '../../functions/queue/retry.ts';
import { rollUp } from '../../functions/queue/roll-up.ts';
import { schedule } from '../../functions/queue/schedule.ts';
import { stats } from '../../functions/queue/stats.ts';
import { upkeep } from '../../functions/queue/upkeep.ts';
import { watch } from '../../functions/queue/watch.ts';
import { xminAge } from '../../functions/queue/xmin-age.ts';
import { claimAt } from '../queue/claiming.ts';
import { deadJob, finishedJob, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { describe, expect, vi } from '../support/fixtures.ts';
import { test as base } from '../support/logins.ts';
import { layPastDays } from '../support/partitions.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { runOn } from './ground.ts';

/** Logins on the database `own`, each a member of one role and no more. */
const test = base.extend('as', async ({ loginAs }) => ({
  producer: await loginAs('producer'),
  reader: await loginAs('reader'),
  worker: await loginAs('worker'),
  reaper: await loginAs('reaper'),
  operator: await loginAs('operator'),
}));

const DAY = 86_400;
const KIND = 'test.kind';
const KINDS = new Map([[KIND, 30]]);
const failure: AttemptError = { attempt: 1, name: 'Error', message: 'boom' };
const mourning = {
  [KIND]: defineJob({ payload: z.unknown(), onDead: 'told' }),
  told: defineJob({ payload: z.unknown() }),
};
const by = (requestId: string) => ({ actor: 'ada', requestId });

test('a job is put in, run, failed, buried, redriven, completed, seen and erased, each by the role that is there for it', async ({
  own,
  as,
}) => {
  const contracts = {
    'order.ship': defineJob({
      payload: z.object({ order: z.number() }),
      maxAttempts: 1,
      timeoutSeconds: 20,
    }),
    'order.mail': defineJob({ payload: z.object({ order: z.number() }), timeoutSeconds: 20 }),
  };
  await own.pool.query('CREATE TABLE shipped (n int); GRANT INSERT ON shipped TO millrace_worker');
  const { producer, worker, reader, operator } = as;

  const id = await enqueue(producer.pool, contracts, { kind: 'order.ship', payload: { order: 7 }, subject: 'order:7' });
  expect(await get(producer.pool, id)).toMatchObject({ status: 'pending', subject: 'order:7' });

  let fails = true;
  const working = () =>
    runOn(worker.url, {
      contracts,
      processors: {
        'order.ship': async ({ order }, ctx) => {
          if (fails) throw new Error('no stamps');
          ctx.progress(0.5, 'packed');
          return ctx.transaction(async (tx) => {
            await tx.query('INSERT INTO shipped VALUES ($1)', [order]);
            const mail = await enqueue(tx, contracts, { kind: 'order.mail', payload: { order }, uniqueKey: 'mail:7' });
            return { mail: (await get(tx, mail))?.status };
          });
        },
        'order.mail': () => 'sent',
      },
    });
  expect(await working()).toMatchObject({ claimed: 1, buried: 1, unsettled: 0 });
  expect(await get(reader.pool, id)).toMatchObject({ status: 'dead', errors: [{ message: 'no stamps' }] });

  fails = false;
  expect(await redrive(operator.pool, id, by('r1'))).toBe('redriven');
  // The second job may be there before the first run has ended, or after.
  const runs = [await working(), await working()];
  expect(runs.map(({ completed }) => completed).reduce((a, b) => a + b)).toBe(2);
  expect((await own.pool.query('SELECT n FROM shipped')).rows).toEqual([{ n: 7 }]);
  expect(await get(reader.pool, id, { payload: true, result: true })).toMatchObject({
    status: 'completed',
    payload: '{"order": 7}',
    result: '{"mail": "pending"}',
  });
  expect(await erase(operator.pool, id, by('r2'))).toBe('erased');
  expect(await get(producer.pool, id)).toBeUndefined();
});

describe('each role may do what it is there for:', () => {
  test('the producer puts in one or many, with keys of both sorts, and sees them', async ({ as: { producer } }) => {
    const db = producer.pool;
    const job = { kind: KIND, payload: { n: 1 } };
    const { id } = await insertJob(db, { ...job, id: '01a2274d-2495-7000-8000-000000000001' });
    expect(await insertJob(db, { ...job, id })).toMatchObject({ id, outcome: 'created' });
    const keyed = { ...job, idempotencyKey: 'k' };
    const [first] = await insertJobs(db, [keyed, job], { lockTimeoutMs: 3000 });
    expect(await insertJob(db, keyed)).toMatchObject({ id: first?.id, outcome: 'replayed' });
    await expect(insertJob(db, { ...keyed, payload: {} })).rejects.toMatchObject({ indexes: [0] });
    const unique = { ...job, uniqueKey: 'u', uniqueWhile: 'live', replace: ['payload', 'run_at'] } as const;
    const twin = await insertJob(db, unique);
    expect(await insertJob(db, { ...unique, payload: { n: 2 } })).toEqual({ ...twin, outcome: 'replaced' });
    expect(await insertJob(db, { ...job, uniqueKey: 'u' })).toEqual({ ...twin, outcome: 'kept' });
    expect((await list(db, { limit: 10, kind: KIND })).jobs).toHaveLength(4);
    expect(await counts(db, { status: 'pending' })).toEqual({ pending: 4 });
  });

  test('the reader sees all there is, with payload and result', async ({ own, as: { reader } }) => {
    const db = reader.pool;
    const { id } = await finishedJob(own.pool, { payload: { n: 1 }, result: 'done', subject: 's' });
    await deadJob(own.pool, { subject: 's' });
    expect(await get(db, id, { payload: true, result: true })).toMatchObject({ payload: '{"n": 1}', result: '"done"' });
    expect((await list(db, { limit: 10, subject: 's' })).jobs).toHaveLength(2);
    expect(await counts(db, { subject: 's' })).toMatchObject({ completed: 1, dead: 1 });
    expect((await stats(db)).kinds).toMatchObject([{ kind: KIND, dead: 1 }]);
    expect((await readiness(db)).schemaVersion).toBeGreaterThan(10);
    expect(await look(db, [id])).toMatchObject({ ended: [id] });
    expect(await xminAge(db)).toBeGreaterThanOrEqual(0);
    expect((await db.query('SELECT result FROM millrace.jobs WHERE id = $1', [id])).rows).toEqual([{ result: 'done' }]);
  });

  test('the worker takes a slot, and claims from many queues at once; who puts jobs in wakes it', async ({
    own,
    as,
  }) => {
    await pendingJob(own.pool, { queue: 'second' });
    const kinds = { [KIND]: defineJob({ payload: z.unknown(), timeoutSeconds: 20 }) };
    const summary = await runOn(as.worker.url, {
      contracts: kinds,
      processors: { [KIND]: () => 'done' },
      queues: ['default', 'second'],
      slot: { worker: 'work', slot: 0, woken: false },
    });
    expect(summary).toMatchObject({ completed: 1, reason: 'emptied' });
    const wake = `SELECT * FROM millrace.take_wakes('{work}')`;
    for (const { pool } of [as.producer, as.worker, as.operator]) {
      expect((await pool.query(wake)).rows).toEqual([{ take_wakes: 'work' }]);
      await own.pool.query('DELETE FROM millrace.wakes');
    }
    await expect(as.reader.pool.query(wake)).rejects.toMatchObject({ code: '42501' });
  });

  test('the worker fires what recurs; the reader sees it; the operator fires it by hand, and pauses it', async ({
    own,
    as,
  }) => {
    const contracts = { [KIND]: defineJob({ payload: z.unknown(), timeoutSeconds: 20 }) };
    const one = schedule({ name: 'x', every: '1d', kind: KIND, payload: { n: 1 } });
    const working = () =>
      runOn(as.worker.url, { contracts, processors: { [KIND]: (_, ctx) => ctx.job.schedule?.name }, schedules: [one] });
    expect(await working()).toMatchObject({ claimed: 0 });
    await own.pool.query(`UPDATE millrace.schedules SET fired_until = fired_until - interval '1 day'`);
    expect(await working()).toMatchObject({ completed: 1 });
    expect(await listSchedules(as.reader.pool)).toMatchObject([{ name: 'x', last_outcome: 'fired', paused: false }]);

    const { pool } = as.operator;
    expect(await isDeclared(pool, 'x')).toBe(true);
    expect(await pause(pool, 'schedule', 'x', by('1'))).toBe(true);
    expect(await fireByHand(pool, 'x', by('2'))).toMatchObject({ outcome: 'fired' });
    expect(await resume(pool, 'schedule', 'x', by('3'))).toBe(true);
    expect(await listSchedules(pool)).toMatchObject([{ name: 'x', paused: false }]);
    expect(await working()).toMatchObject({ completed: 1 });
  });

  test('the worker claims, watches, tells progress and settles in every way', async ({ own, as: { worker } }) => {
    const db = worker.pool;
    for (let n = 0; n < 5; n++) await pendingJob(own.pool, { dueInSeconds: n - 10, uniqueKey: `u${n}` });
    const cursor = new QueueCursor('default', KINDS);
    const token = randomUUID();
    const jobs = await claimAt(cursor, db, { token, limit: 5 });
    await cursor.publish(db, 'now');
    const claims = jobs.map(({ id }) => ({ id, token }));
    const [completed, retried, buried, asked, lost] = claims as [Claim, Claim, Claim, Claim, Claim];
    expect(await writeProgress(db, [{ ...completed, fraction: 0.1, note: 'a' }])).toEqual([completed.id]);
    expect(await writeProgress(db, [{ ...completed, fraction: 0.2, note: 'b' }])).toEqual([completed.id]);
    await own.pool.query('UPDATE millrace.live_jobs SET cancel_requested_at = now() WHERE id = $1', [asked.id]);
    expect(await watch(db, claims)).toEqual({ lost: [], cancelled: [asked.id] });
    expect(await complete(db, [{ ...completed, result: 1 }])).toEqual([completed.id]);
    expect(await complete(db, [{ ...completed, result: 1 }])).toEqual([completed.id]);
    const delaySeconds = 60;
    expect(await retry(db, [{ ...retried, error: failure, delaySeconds }])).toMatchObject([{ status: 'pending' }]);
    const refused = vi.fn();
    const onDead = { jobs: onDeadJobs(mourning), refused };
    expect(await bury(db, [{ ...buried, error: failure }], { patience: '50ms', onDead })).toEqual([buried.id]);
    expect(refused).not.toHaveBeenCalled();
    expect(await list(own.pool, { limit: 10, kind: 'told' })).toMatchObject({ jobs: [{ status: 'pending' }] });
    expect(await retry(db, [{ ...asked, error: failure, delaySeconds }])).toMatchObject([{ status: 'cancelled' }]);
    expect(await releaseTokens(db, [token])).toEqual([lost.id]);
    const suspect = await pendingJob(own.pool, { reaps: 2, attempts: 2 });
    expect(await claimSuspect(db, { token, queue: 'default', kinds: KINDS })).toMatchObject({ id: suspect.id });
  });

  test('the worker closes a job that others hold in turn', async ({ own, as: { worker, producer } }) => {
    const { id } = await pendingJob(own.pool, { dueInSeconds: -10, uniqueKey: 'u' });
    const holder = await producer.pool.connect();
    try {
      await holder.query('BEGIN');
      expect(await insertJob(holder, { kind: KIND, payload: {}, uniqueKey: 'u' })).toMatchObject({ id });
      const marks = Array<string>(11).fill('2100-01-01T00:00:00Z');
      expect(await closeHeld(worker.pool, 'default', KINDS, marks)).toEqual([id]);
      await holder.query('COMMIT');
    } finally {
      holder.release();
    }
  });

  test('the reaper takes back, adds up, cuts and drops partitions, prunes and measures', async ({
    own,
    as: { reaper },
  }) => {
    const db = reaper.pool;
    const gone = { leaseExpiredSecondsAgo: 1 };
    await processingJob(own.pool, gone);
    await processingJob(own.pool, { ...gone, attempts: 5 });
    await processingJob(own.pool, { ...gone, cancelRequested: true });
    const onDeadRefused = vi.fn();
    const reaped = await reap(db, { limit: 10, contracts: mourning, onDeadRefused });
    expect(onDeadRefused).not.toHaveBeenCalled();
    expect((await list(own.pool, { limit: 10, kind: 'told' })).jobs).toHaveLength(1);
    expect(reaped.map(({ status }) => status).sort()).toEqual(['cancelled', 'dead', 'pending']);
    expect(await rollUp(db)).toBeGreaterThan(0);

    await deadJob(own.pool, { finishedSecondsAgo: 31 * DAY });
    await finishedJob(own.pool, { createdSecondsAgo: 400 * DAY, finishedSecondsAgo: 8 * DAY });
    await finishedJob(own.pool, { createdSecondsAgo: -30 * DAY, finishedSecondsAgo: 8 * DAY });
    const { id: live } = await pendingJob(own.pool);
    for (const id of [live, randomUUID()]) {
      await own.pool.query(
        `INSERT INTO millrace.idempotency_keys (kind, key, job_id, checked_at)
         VALUES ($1, $2::uuid, $2, now() - interval '8 days')`,
        [KIND, id],
      );
    }
    await own.pool.query(
      `INSERT INTO millrace.job_progress (id, fraction, updated_at) VALUES (gen_random_uuid(), 1, now() - interval '1 hour')`,
    );
    await own.pool.query(
      `INSERT INTO millrace.operator_log (at, action, target, count) VALUES (now() - interval '2 years', 'pause', '{}', 1)`,
    );
    await declaredSchedule(own.pool, { declaredSecondsAgo: 31 * DAY });
    expect(await prune(db, { deadKeepDays: 30, keepDays: 7, limit: 100 })).toEqual({
      pruned: 3,
      prunedKeys: 1,
      prunedProgress: 1,
      prunedLog: 1,
      prunedSchedules: 1,
      more: false,
    });

    await layPastDays(own.pool, 10);
    const done = await upkeep(db, { keepDays: 7, aheadDays: 5 });
    expect(done).toMatchObject({ postponed: false });
    expect(done.created.length).toBeGreaterThan(0);
    expect(done.dropped.length).toBeGreaterThan(0);

    expect((await stats(db)).kinds).toHaveLength(2);
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: [KIND, 'told'] });
    expect(await xminAge(db)).toBeGreaterThanOrEqual(0);
  });

  test('what the reaper has cut since is there for the others', async ({
    own,
    as: { producer, worker, reader, reaper },
  }) => {
    await upkeep(reaper.pool, { keepDays: 7, aheadDays: 40 });
    const { rows } = await own.pool.query<{ id: string }>(
      `SELECT overlay(millrace.uuidv7()::text PLACING substr(millrace.uuidv7_floor(now() + interval '30 days')::text, 1, 13) FROM 1) AS id`,
    );
    const { id } = await insertJob(producer.pool, { id: rows[0]?.id, kind: KIND, payload: { n: 1 } });
    const contracts = { [KIND]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 5 }) };
    const summary = await runOn(worker.url, { contracts, processors: { [KIND]: () => 'done' } });
    expect(summary).toMatchObject({ completed: 1 });
    const content = { payload: true, result: true };
    expect(await get(reader.pool, id, content)).toMatchObject({ payload: '{"n": 1}', result: '"done"' });
  });

  test('the operator cancels, redrives, pauses, resumes and erases, and is written down', async ({
    own,
    as: { operator },
  }) => {
    const db = operator.pool;
    const pending = await pendingJob(own.pool);
    const running = await processingJob(own.pool);
    expect(await cancel(db, pending.id, by('1'), '3s')).toBe('cancelled');
    expect(await cancel(db, running.id, by('2'))).toBe('requested');
    expect(await erase(db, pending.id, by('3'))).toBe('erased');
    const dead = await deadJob(own.pool, { idempotencyKey: 'k', payload: { n: 1 } });
    for (let n = 0; n < 2; n++) await deadJob(own.pool);
    expect(await countRedrivable(db, { filter: { kind: KIND, error: 'boom' }, limit: 10 })).toMatchObject({
      matched: 3,
    });
    expect(await redrive(db, dead.id, by('4'), '3s')).toBe('redriven');
    expect(await redriveMany(db, { filter: {}, limit: 10 }, by('5'))).toMatchObject({ redriven: 2 });
    expect(await pause(db, 'kind', KIND, by('6'))).toBe(true);
    expect(await resume(db, 'kind', KIND, by('7'))).toBe(true);
    const { id } = await deadJob(own.pool);
    expect(await erase(db, id, by('8'))).toBe('erased');
    expect(await get(db, dead.id, { payload: true, result: false })).toMatchObject({ payload: '{"n": 1}' });
    expect((await list(db, { limit: 10 })).jobs).toHaveLength(4);
    expect(await stats(db)).toMatchObject({ kinds: [{ kind: KIND }] });
    expect(await readiness(db)).toMatchObject({ paused: [] });
    expect((await db.query('SELECT DISTINCT actor FROM millrace.operator_log')).rows).toEqual([{ actor: 'ada' }]);
    expect(await statusOf(own.pool, dead.id)).toBe('pending');
  });
});

interface Claim {
  readonly id: string;
  readonly token: string;
}
