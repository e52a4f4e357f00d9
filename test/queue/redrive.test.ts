import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { complete } from '../../functions/queue/complete.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { retry } from '../../functions/queue/retry.ts';
import {
  counterOf,
  deadJob,
  finishedJob,
  liveRowOf,
  pendingJob,
  processingJob,
  rowOf,
  statusOf,
} from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimSome } from './claiming.ts';
import { ageLog, logged, operator } from './operator-log.ts';
import { inTurn, waitsForLock, withSessions } from './sessions.ts';

const error = { attempt: 1, name: 'Error', message: 'boom' };

test('a redriven job is pending and due, with all its attempts; its errors, reaps and the rest stay', async ({
  db,
}) => {
  const fields = { errors: [error], reaps: 1, subject: 'x', priority: -2, queue: 'mail', payload: { n: 1 } };
  const job = await deadJob(db, { ...fields, createdSecondsAgo: 3600 });
  const before = await rowOf(db, job.id);
  expect(await redrive(db, job.id)).toBe('redriven');
  const revived = { status: 'pending', attempts: 0, locked_by: null, finished_at: null, run_at: expect.any(Date) };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...revived });
  const { rows } = await db.query(
    `SELECT run_at BETWEEN now() - interval '30 s' AND now() AS due, (SELECT count(*)::int FROM millrace.dead_jobs) AS dead
     FROM millrace.live_jobs`,
  );
  expect(rows).toEqual([{ due: true, dead: 0 }]);
  expect(await counterOf(db, 'test.kind', 'redriven')).toBe(1);
});

test('the payload comes back from the dead job if its day has gone', async ({ db }) => {
  const job = await deadJob(db, { payload: { keep: 'me' } });
  await db.query('DELETE FROM millrace.payloads');
  await redrive(db, job.id);
  expect((await claimSome(db)).jobs).toMatchObject([{ id: job.id, attempts: 1, payload: { keep: 'me' } }]);
});

test('a cancel request from before the burial is forgotten', async ({ db }) => {
  const job = await processingJob(db, { cancelRequested: true });
  await bury(db, [{ ...job, error }]);
  await redrive(db, job.id);
  const [claimed] = (await claimSome(db)).jobs;
  const settled = [{ id: job.id, token: claimed?.token as string, error, delaySeconds: 0 }];
  expect(await retry(db, settled)).toEqual([{ id: job.id, status: 'pending' }]);
});

test('a worker from before the burial can settle nothing', async ({ db }) => {
  const job = await processingJob(db);
  await bury(db, [{ ...job, error }]);
  await redrive(db, job.id);
  const before = await liveRowOf(db, job.id);
  expect(await complete(db, [{ ...job, result: 1 }])).toEqual([]);
  expect(await bury(db, [{ ...job, error }])).toEqual([]);
  expect(await liveRowOf(db, job.id)).toEqual(before);
});

test('only dead jobs can be redriven', async ({ db }) => {
  expect(await redrive(db, (await pendingJob(db)).id)).toEqual({ wrongState: 'pending' });
  expect(await redrive(db, (await processingJob(db)).id)).toEqual({ wrongState: 'processing' });
  expect(await redrive(db, (await finishedJob(db)).id)).toEqual({ wrongState: 'completed' });
  expect(await redrive(db, (await finishedJob(db, { status: 'cancelled' })).id)).toEqual({ wrongState: 'cancelled' });
  expect(await redrive(db, randomUUID())).toBeUndefined();
});

test('of two redrives at once one counts', async ({ db, databaseUrl }) => {
  const job = await deadJob(db);
  const send = (session: Parameters<typeof redrive>[0]) => redrive(session, job.id);
  expect(await inTurn(databaseUrl, send, send)).toEqual(['redriven', { wrongState: 'pending' }]);
  expect(await counterOf(db, 'test.kind', 'redriven')).toBe(1);
});

const uniqueKey = 'invoice:7';

test('a dead job beside a pending one of its key stays dead, and is told which one', async ({ db }) => {
  const [dead, twin] = [await deadJob(db, { uniqueKey }), await pendingJob(db, { uniqueKey })];
  const before = await rowOf(db, dead.id);
  expect(await redrive(db, dead.id)).toEqual({ twin: twin.id });
  expect(await rowOf(db, dead.id)).toEqual(before);
  expect([await counterOf(db, 'test.kind', 'redriven'), await logged(db)]).toEqual([0, []]);
});

test('within a transaction of its caller a twin is an answer too, not an error', async ({ db, databaseUrl }) => {
  const [dead, other] = [await deadJob(db, { uniqueKey }), await deadJob(db)];
  await pendingJob(db, { uniqueKey });
  await withSessions(databaseUrl, async (caller) => {
    await caller.begin();
    expect(await redrive(caller, dead.id)).toMatchObject({ twin: expect.any(String) });
    expect(await redrive(caller, other.id)).toBe('redriven');
    await caller.commit();
  });
});

test('beside one that runs, one of another kind, or one of another key it goes back', async ({ db }) => {
  const dead = await deadJob(db, { uniqueKey });
  await processingJob(db, { uniqueKey });
  for (const kind of ['a.kind', 'z.kind']) await pendingJob(db, { uniqueKey, kind });
  await pendingJob(db, { uniqueKey: 'invoice:8' });
  expect(await redrive(db, dead.id)).toBe('redriven');
});

test('of two dead jobs of one key one goes back, also when both are redriven at once', async ({ db, databaseUrl }) => {
  const [one, other] = [await deadJob(db, { uniqueKey }), await deadJob(db, { uniqueKey })];
  const answers = await inTurn(
    databaseUrl,
    (session) => redrive(session, one.id),
    (session) => redrive(session, other.id),
  );
  expect(answers).toEqual(['redriven', { twin: one.id }]);
  expect([await statusOf(db, one.id), await statusOf(db, other.id)]).toEqual(['pending', 'dead']);
});

test('it waits for a twin that is being put in: commit and it stays dead, rollback and it goes back', async ({
  db,
  databaseUrl,
}) => {
  for (const decision of ['commit', 'rollback'] as const) {
    const key = `key ${decision}`;
    const dead = await deadJob(db, { uniqueKey: key });
    await withSessions(databaseUrl, async (producer, worker) => {
      await producer.begin();
      const twin = await pendingJob(producer, { uniqueKey: key });
      const answer = redrive(worker, dead.id);
      await waitsForLock(producer, worker);
      await producer[decision]();
      expect(await answer).toEqual(decision === 'commit' ? { twin: twin.id } : 'redriven');
    });
  }
});

test('its patience ends before a transaction that does not', async ({ db, databaseUrl }) => {
  const dead = await deadJob(db, { uniqueKey });
  await withSessions(databaseUrl, async (producer) => {
    await producer.begin();
    await pendingJob(producer, { uniqueKey });
    await expect(redrive(db, dead.id, undefined, '50ms')).rejects.toMatchObject({ code: '55P03' });
    await producer.rollback();
  });
  expect(await statusOf(db, dead.id)).toBe('dead');
});

test('the log says who redrove what, in the same transaction', async ({ db, databaseUrl }) => {
  const [job, by] = [await deadJob(db), operator()];
  await withSessions(databaseUrl, async (caller) => {
    await caller.begin();
    await redrive(caller, job.id, by);
    await caller.rollback();
  });
  expect(await logged(db)).toEqual([]);
  await redrive(db, job.id, by);
  await redrive(db, (await finishedJob(db)).id, by);
  expect(await logged(db)).toEqual([
    { actor: 'ada', action: 'redrive', target: { id: job.id }, count: 1, requestId: by.requestId },
  ]);
});

test('a resend is answered as the first time, also if the job is dead again by then; another request is not', async ({
  db,
}) => {
  const [job, by] = [await deadJob(db), operator()];
  expect(await redrive(db, job.id, by)).toBe('redriven');
  expect(await redrive(db, job.id, by)).toBe('redriven');
  expect(await redrive(db, job.id, operator())).toEqual({ wrongState: 'pending' });
  const [claimed] = (await claimSome(db)).jobs;
  await bury(db, [{ id: job.id, token: claimed?.token as string, error }]);
  expect(await redrive(db, job.id, by)).toBe('redriven');
  expect(await statusOf(db, job.id)).toBe('dead');
  expect(await counterOf(db, 'test.kind', 'redriven')).toBe(1);
  await ageLog(db, 11);
  expect(await redrive(db, job.id, by)).toBe('redriven');
  expect(await statusOf(db, job.id)).toBe('pending');
});

test('a resend that overtakes its first waits for it and does nothing', async ({ db, databaseUrl }) => {
  const [job, by] = [await deadJob(db), operator()];
  const send = (session: Parameters<typeof redrive>[0]) => redrive(session, job.id, by);
  expect(await inTurn(databaseUrl, send, send)).toEqual(['redriven', 'redriven']);
  expect(await logged(db)).toHaveLength(1);
});

test('a redriven job keeps the request that put it in, and its keys', async ({ db }) => {
  const job = await deadJob(db, { requestId: 'r', traceparent: 't', uniqueKey, idempotencyKey: 'i' });
  await redrive(db, job.id);
  const kept = { request_id: 'r', traceparent: 't', unique_key: uniqueKey, idempotency_key: 'i' };
  expect(await liveRowOf(db, job.id)).toMatchObject(kept);
});
