import { randomUUID } from 'node:crypto';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import { redrive } from '../../functions/queue/redrive.ts';
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
import { claimedIds, claimSome } from './claiming.ts';
import { ageLog, logged, operator, sessionUser } from './operator-log.ts';
import { inTurn, waitsForLock, withSessions } from './sessions.ts';

test('a pending job is cancelled at once, with all that was known of it', async ({ db }) => {
  const errors = [{ attempt: 1, name: 'Error', message: 'boom' }];
  const fields = { attempts: 1, errors, subject: 'x', priority: 2, payload: { n: 1 } };
  const job = await pendingJob(db, { ...fields, returnedBy: randomUUID(), dueInSeconds: 60 });
  const before = await rowOf(db, job.id);
  expect(await cancel(db, job.id)).toBe('cancelled');
  const ended = { status: 'cancelled', finished_at: expect.any(Date), cancel_requested_at: expect.any(Date) };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended });
  expect(await liveRowOf(db, job.id)).toBeUndefined();
  expect(await counterOf(db, 'test.kind', 'cancelled')).toBe(1);
});

test('a running job is asked to stop and keeps running; asking again keeps the first time', async ({ db }) => {
  const job = await processingJob(db);
  expect(await cancel(db, job.id)).toBe('requested');
  const before = await liveRowOf(db, job.id);
  expect(before).toMatchObject({ status: 'processing', locked_by: job.token, cancel_requested_at: expect.any(Date) });
  expect(await cancel(db, job.id)).toBe('requested');
  expect(await liveRowOf(db, job.id)).toEqual(before);
  expect(await counterOf(db, 'test.kind', 'cancelled')).toBe(0);
});

test('a cancel may be repeated', async ({ db }) => {
  const job = await pendingJob(db);
  expect([await cancel(db, job.id), await cancel(db, job.id)]).toEqual(['cancelled', 'cancelled']);
  expect(await counterOf(db, 'test.kind', 'cancelled')).toBe(1);
});

test('a job that has ended otherwise is in the wrong state, and one that never was is not there', async ({ db }) => {
  expect(await cancel(db, (await finishedJob(db)).id)).toEqual({ wrongState: 'completed' });
  expect(await cancel(db, (await deadJob(db)).id)).toEqual({ wrongState: 'dead' });
  expect(await cancel(db, randomUUID())).toBeUndefined();
});

test('a completion waits for the cancel request and wins', async ({ db, databaseUrl }) => {
  const job = await processingJob(db);
  const answers = await inTurn(
    databaseUrl,
    (session) => cancel(session, job.id),
    (session) => complete(session, [{ ...job, result: 1 }]),
  );
  expect(answers).toEqual(['requested', [job.id]]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', cancel_requested_at: expect.any(Date) });
});

test('a cancel that waits for a completion is told that it came too late', async ({ db, databaseUrl }) => {
  const job = await processingJob(db);
  const answers = await inTurn(
    databaseUrl,
    (session) => complete(session, [{ ...job, result: 1 }]),
    (session) => cancel(session, job.id),
  );
  expect(answers).toEqual([[job.id], { wrongState: 'completed' }]);
});

test('a cancel that waits for a claim asks the new holder to stop', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const [, answer] = await inTurn(
    databaseUrl,
    (session) => claimSome(session),
    (session) => cancel(session, job.id),
  );
  expect(answer).toBe('requested');
  expect(await liveRowOf(db, job.id)).toMatchObject({ status: 'processing', cancel_requested_at: expect.any(Date) });
});

test('a claim passes over a job that is being cancelled', async ({ db, databaseUrl }) => {
  const [stops, goes] = [await pendingJob(db), await pendingJob(db)];
  await withSessions(databaseUrl, async (operator) => {
    await operator.begin();
    await cancel(operator, stops.id);
    expect(await claimedIds(db, { limit: 1 })).toEqual([goes.id]);
    await operator.commit();
  });
  expect(await statusOf(db, stops.id)).toBe('cancelled');
});

test('a cancel that waits for a completion finds the job again if it was redriven meanwhile', async ({
  db,
  databaseUrl,
}) => {
  // The row that the cancel waits for goes; when it looks again, the job is pending.
  const job = await pendingJob(db);
  await withSessions(databaseUrl, async (mover, operator) => {
    await mover.begin();
    await mover.query(
      `WITH gone AS (DELETE FROM millrace.live_jobs WHERE id = $1 RETURNING *)
       INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at,
                                       payload_bytes, payload)
       SELECT id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, '{}'
       FROM gone`,
      [job.id],
    );
    await redrive(mover, job.id);
    const answer = cancel(operator, job.id);
    await waitsForLock(mover, operator);
    await mover.commit();
    expect(await answer).toBe('cancelled');
  });
});

test('the log says who cancelled what, once for each change', async ({ db }) => {
  const [waiting, running] = [await pendingJob(db), await processingJob(db)];
  const [one, other] = [operator(), operator()];
  for (const { id } of [waiting, running]) {
    await cancel(db, id, one);
    await cancel(db, id, other);
  }
  await cancel(db, (await finishedJob(db)).id, one);
  await cancel(db, randomUUID(), one);
  const entry = { actor: 'ada', action: 'cancel', count: 1, requestId: one.requestId };
  expect(await logged(db)).toEqual([
    { ...entry, target: { id: waiting.id } },
    { ...entry, target: { id: running.id } },
  ]);
});

test('from SQL it is logged under the name of the session, and rolled back with its transaction', async ({
  db,
  databaseUrl,
}) => {
  const job = await pendingJob(db);
  await withSessions(databaseUrl, async (caller) => {
    await caller.begin();
    const { rows } = await caller.query('SELECT millrace.cancel($1) AS answer', [job.id]);
    expect(rows).toEqual([{ answer: 'cancelled' }]);
    await caller.rollback();
    expect([await statusOf(db, job.id), await logged(db)]).toEqual(['pending', []]);
    await caller.query('SELECT millrace.cancel($1)', [job.id]);
  });
  expect(await logged(db)).toMatchObject([{ actor: await sessionUser(db), action: 'cancel', requestId: null }]);
});

test('a resend whose job has completed meanwhile is answered as the first time; another request is told', async ({
  db,
}) => {
  const job = await processingJob(db);
  const by = operator();
  expect(await cancel(db, job.id, by)).toBe('requested');
  await complete(db, [{ ...job, result: 1 }]);
  expect(await cancel(db, job.id, by)).toBe('requested');
  expect(await cancel(db, job.id, operator())).toEqual({ wrongState: 'completed' });
  expect(await cancel(db, job.id)).toEqual({ wrongState: 'completed' });
  await ageLog(db, 11);
  expect(await cancel(db, job.id, by)).toEqual({ wrongState: 'completed' });
});

test('a cancelled job keeps the request that put it in, and its keys', async ({ db }) => {
  const fields = { requestId: 'r', traceparent: 't', uniqueKey: 'u', idempotencyKey: 'i' };
  const job = await pendingJob(db, fields);
  await cancel(db, job.id);
  expect(await rowOf(db, job.id)).toMatchObject({
    status: 'cancelled',
    request_id: 'r',
    traceparent: 't',
    unique_key: 'u',
    idempotency_key: 'i',
  });
});
