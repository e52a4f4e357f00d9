import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import { reap } from '../../functions/queue/reap.ts';
import { release } from '../../functions/queue/release.ts';
import { retry } from '../../functions/queue/retry.ts';
import { counterOf, liveRowOf, pendingJob, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { inTurn, withSessions } from './sessions.ts';

const expired = { leaseExpiredSecondsAgo: 1 };
const leaseExpired = (attempt: number) => expect.objectContaining({ attempt, name: 'LeaseExpired' });
const error = { attempt: 1, name: 'Error', message: 'boom' };

test('a job whose lease ran out is pending again, its attempt spent, and known to have lost a worker', async ({
  db,
}) => {
  const fields = { ...expired, attempts: 2, reaps: 1, errors: [error], requestId: 'r', traceparent: 't' };
  const job = await processingJob(db, fields);
  const reaped = { id: job.id, kind: 'test.kind', attempt: 2, status: 'pending', requestId: 'r', traceparent: 't' };
  expect(await reap(db, { limit: 10 })).toEqual([{ ...reaped, leaseUntil: expect.any(String) }]);
  expect(await liveRowOf(db, job.id)).toMatchObject({
    status: 'pending',
    attempts: 2,
    reaps: 2,
    locked_by: null,
    locked_until: null,
    returned_by: null,
    errors: [error, leaseExpired(2)],
  });
  expect(await counterOf(db, 'test.kind', 'reaped')).toBe(1);
});

test('the error says when the attempt began and ended', async ({ db }) => {
  const job = await processingJob(db, expired);
  await reap(db, { limit: 10 });
  const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(await rowOf(db, job.id)).toMatchObject({ errors: [{ started_at: iso, failed_at: iso }] });
});

test('it comes back after a random second to ten, and to a minute if it loses workers again and again', async ({
  db,
}) => {
  for (const [reaps, longest] of [
    [0, 10],
    [1, 20],
    [2, 40],
    [3, 60],
    [50, 60],
  ] as const) {
    await db.query('TRUNCATE millrace.live_jobs, millrace.payloads');
    for (let n = 0; n < 40; n++) await processingJob(db, { ...expired, reaps });
    const { rows: clock } = await db.query('SELECT clock_timestamp()::text AS before');
    await reap(db, { limit: 100 });
    const { rows } = await db.query(
      `SELECT min(run_at) >= $1::timestamptz + interval '1 s' AS late_enough,
              max(run_at) <= clock_timestamp() + make_interval(secs => $2) AS soon_enough,
              max(run_at) - min(run_at) > make_interval(secs => $2 / 3.0) AS spread
       FROM millrace.live_jobs`,
      [clock[0]?.before, longest],
    );
    expect([reaps, rows[0]]).toEqual([reaps, { late_enough: true, soon_enough: true, spread: true }]);
  }
});

test('a job that spent its last attempt is dead, with its payload, and the late worker is told', async ({ db }) => {
  const fields = { ...expired, attempts: 3, maxAttempts: 3, payload: { n: 1 }, subject: 'x' };
  const job = await processingJob(db, fields);
  const before = await rowOf(db, job.id);
  expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'dead' }]);
  const ended = { status: 'dead', locked_by: null, locked_until: null, finished_at: expect.any(Date), reaps: 1 };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended, errors: [leaseExpired(3)] });
  expect([await counterOf(db, 'test.kind', 'reaped'), await counterOf(db, 'test.kind', 'buried')]).toEqual([1, 1]);
  expect(await bury(db, [{ ...job, error }])).toEqual([]);
});

test('a job that was to be cancelled is cancelled, also in its last attempt', async ({ db }) => {
  const job = await processingJob(db, { ...expired, cancelRequested: true, attempts: 5, maxAttempts: 5 });
  const before = await rowOf(db, job.id);
  expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'cancelled' }]);
  const ended = { status: 'cancelled', locked_by: null, locked_until: null, finished_at: expect.any(Date), reaps: 1 };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended, errors: [leaseExpired(5)] });
  expect([await counterOf(db, 'test.kind', 'reaped'), await counterOf(db, 'test.kind', 'cancelled')]).toEqual([1, 1]);
  expect(await retry(db, [{ ...job, error, delaySeconds: 0 }])).toEqual([]);
});

test('jobs with time left on their lease, and pending ones, are left alone', async ({ db }) => {
  await processingJob(db, { leaseSeconds: 5 });
  await pendingJob(db, { dueInSeconds: -3600 });
  expect(await reap(db, { limit: 10 })).toEqual([]);
});

test('the longest expired go first, so many at a time', async ({ db }) => {
  const [recent, oldest, old] = [
    await processingJob(db, { leaseExpiredSecondsAgo: 1 }),
    await processingJob(db, { leaseExpiredSecondsAgo: 30 }),
    await processingJob(db, { leaseExpiredSecondsAgo: 20 }),
  ];
  expect((await reap(db, { limit: 2 })).map((job) => job.id)).toEqual([oldest.id, old.id]);
  expect((await reap(db, { limit: 2 })).map((job) => job.id)).toEqual([recent.id]);
});

test('a call can begin where the last one ended, to the microsecond', async ({ db }) => {
  const jobs = [30, 20, 20, 10].map((leaseExpiredSecondsAgo) => ({ leaseExpiredSecondsAgo }));
  for (const fields of jobs) await processingJob(db, fields);
  const all = (await reap(db, { limit: 10 })).map(({ id, leaseUntil }) => ({ id, leaseUntil }));
  await db.query(
    `UPDATE millrace.live_jobs j
     SET status = 'processing', locked_by = gen_random_uuid(), locked_until = r.until
     FROM unnest($1::uuid[], $2::timestamptz[]) r(id, until)
     WHERE j.id = r.id`,
    [all.map(({ id }) => id), all.map(({ leaseUntil }) => leaseUntil)],
  );
  const after = all[1]?.leaseUntil;
  expect((await reap(db, { limit: 10, after })).map(({ id }) => id)).toEqual(all.slice(1).map(({ id }) => id));
});

test('a call leaves those that ran out at its end or later', async ({ db }) => {
  const job = await processingJob(db, { leaseExpiredSecondsAgo: 30 });
  const later = await processingJob(db, { leaseExpiredSecondsAgo: 20 });
  const until = (await liveRowOf(db, later.id))?.locked_until.toISOString();
  await db.query('UPDATE millrace.live_jobs SET locked_until = $2 WHERE id = $1', [later.id, until]);
  expect(await reap(db, { limit: 10, until })).toMatchObject([{ id: job.id }]);
  expect(await reap(db, { limit: 10 })).toMatchObject([{ id: later.id }]);
});

test('a beginning that lies ahead is of a clock that was set back, and hides nothing', async ({ db }) => {
  const job = await processingJob(db, expired);
  expect(await reap(db, { limit: 10, after: '2999-01-01T00:00:00Z' })).toMatchObject([{ id: job.id }]);
});

test('the last twenty errors are kept', async ({ db }) => {
  const errors = Array.from({ length: 20 }, (_, n) => ({ ...error, attempt: n + 1 }));
  const job = await processingJob(db, { ...expired, attempts: 21, maxAttempts: 100, errors });
  await reap(db, { limit: 10 });
  expect((await rowOf(db, job.id))?.errors).toEqual([...errors.slice(1), leaseExpired(21)]);
});

test('a worker whose lease was reaped cannot settle the job in any way', async ({ db }) => {
  const job = await processingJob(db, expired);
  await reap(db, { limit: 10 });
  const before = await liveRowOf(db, job.id);
  expect(await complete(db, [{ ...job, result: 1 }])).toEqual([]);
  expect(await retry(db, [{ ...job, error, delaySeconds: 0 }])).toEqual([]);
  expect(await bury(db, [{ ...job, error }])).toEqual([]);
  expect(await release(db, [{ ...job, delaySeconds: 0 }])).toEqual([]);
  expect(await liveRowOf(db, job.id)).toEqual(before);
});

test('a job that is being completed is not reaped, even if the worker is late', async ({ db, databaseUrl }) => {
  const job = await processingJob(db, expired);
  await withSessions(databaseUrl, async (worker) => {
    await worker.begin();
    expect(await complete(worker, [{ ...job, result: 1 }])).toEqual([job.id]);
    expect(await reap(db, { limit: 10 })).toEqual([]);
    await worker.commit();
  });
  expect(await statusOf(db, job.id)).toBe('completed');
});

test('a completion that waits for the reaper comes too late', async ({ db, databaseUrl }) => {
  const job = await processingJob(db, expired);
  const [reaped, completed] = await inTurn(
    databaseUrl,
    (session) => reap(session, { limit: 10 }),
    (session) => complete(session, [{ ...job, result: 1 }]),
  );
  expect([reaped.map((row) => row.id), completed]).toEqual([[job.id], []]);
  expect(await statusOf(db, job.id)).toBe('pending');
});

test('a cancel request that is being written is not lost to the reaper', async ({ db, databaseUrl }) => {
  const job = await processingJob(db, expired);
  await withSessions(databaseUrl, async (operator) => {
    await operator.begin();
    expect(await cancel(operator, job.id)).toBe('requested');
    expect(await reap(db, { limit: 10 })).toEqual([]);
    await operator.commit();
  });
  expect(await reap(db, { limit: 10 })).toMatchObject([{ id: job.id, status: 'cancelled' }]);
});

test('a cancel that waits for the reaper ends the job that it gave back', async ({ db, databaseUrl }) => {
  const job = await processingJob(db, expired);
  const [, cancelled] = await inTurn(
    databaseUrl,
    (session) => reap(session, { limit: 10 }),
    (session) => cancel(session, job.id),
  );
  expect(cancelled).toBe('cancelled');
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled', errors: [leaseExpired(1)] });
});

test('two reapers at once share the work', async ({ db, databaseUrl }) => {
  const jobs: string[] = [];
  for (let n = 0; n < 6; n++) jobs.push((await processingJob(db, { leaseExpiredSecondsAgo: 60 - n })).id);
  await withSessions(databaseUrl, async (one, other) => {
    await one.begin();
    const first = await reap(one, { limit: 3 });
    const second = await reap(other, { limit: 10 });
    await one.commit();
    expect([first.map((job) => job.id), second.map((job) => job.id)]).toEqual([jobs.slice(0, 3), jobs.slice(3)]);
  });
});
