import { cancel } from '../../functions/queue/cancel.ts';
import { retry } from '../../functions/queue/retry.ts';
import { counterOf, liveRowOf, processingJob, rowOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { inTurn } from './sessions.ts';

const error = (attempt: number) => ({ attempt, name: 'Error', message: `failed ${attempt}`, stack: 'at "x"\\n' });

test('a retried job is pending again with its attempt spent, its error kept, and free of its claim', async ({ db }) => {
  const job = await processingJob(db, { attempts: 2, errors: [error(1)] });
  expect(await retry(db, [{ ...job, error: error(2), delaySeconds: 0 }])).toEqual([{ id: job.id, status: 'pending' }]);
  expect(await liveRowOf(db, job.id)).toMatchObject({
    status: 'pending',
    attempts: 2,
    reaps: 0,
    locked_by: null,
    locked_until: null,
    returned_by: job.token,
    errors: [error(1), error(2)],
  });
  expect(await counterOf(db, 'test.kind', 'retried')).toBe(1);
});

test('each job of a batch gets its own delay and its own error', async ({ db }) => {
  const jobs = [];
  for (let n = 1; n <= 20; n++) jobs.push(await processingJob(db));
  await retry(
    db,
    jobs.map((job, n) => ({ ...job, error: error(n), delaySeconds: n * 60 })),
  );
  const { rows } = await db.query(
    `SELECT id, errors, round(extract(epoch FROM run_at - clock_timestamp()) / 60)::int AS minutes
     FROM millrace.live_jobs ORDER BY run_at`,
  );
  expect(rows).toEqual(jobs.map((job, n) => ({ id: job.id, errors: [error(n)], minutes: n })));
});

test('a job put back is never due earlier than now, so that no mark has passed it', async ({ db }) => {
  const job = await processingJob(db);
  await db.query(`UPDATE millrace.live_jobs SET run_at = now() - interval '1 hour'`);
  const { rows: clock } = await db.query('SELECT clock_timestamp()::text AS before');
  await retry(db, [{ ...job, error: error(1), delaySeconds: 0 }]);
  const { rows } = await db.query('SELECT run_at >= $1::timestamptz AS ok FROM millrace.live_jobs', [clock[0]?.before]);
  expect(rows).toEqual([{ ok: true }]);
});

test('the last twenty errors are kept', async ({ db }) => {
  const errors = Array.from({ length: 20 }, (_, n) => error(n + 1));
  const job = await processingJob(db, { attempts: 21, maxAttempts: 100, errors });
  await retry(db, [{ ...job, error: error(21), delaySeconds: 0 }]);
  expect((await rowOf(db, job.id))?.errors).toEqual([...errors.slice(1), error(21)]);
});

test('a job that was to be cancelled ends cancelled, with its error', async ({ db }) => {
  const job = await processingJob(db, { cancelRequested: true, subject: 'x', errors: [error(1)], attempts: 2 });
  const before = await rowOf(db, job.id);
  const settled = [{ ...job, error: error(2), delaySeconds: 60 }];
  expect(await retry(db, settled)).toEqual([{ id: job.id, status: 'cancelled' }]);
  const ended = {
    status: 'cancelled',
    locked_until: null,
    finished_at: expect.any(Date),
    errors: [error(1), error(2)],
  };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended });
  expect(await liveRowOf(db, job.id)).toBeUndefined();
  expect([await counterOf(db, 'test.kind', 'cancelled'), await counterOf(db, 'test.kind', 'retried')]).toEqual([1, 0]);
  // Its answer may be lost, too.
  expect(await retry(db, settled)).toEqual([{ id: job.id, status: 'cancelled' }]);
});

test('one batch can give some jobs back and cancel others', async ({ db }) => {
  const [goes, stops] = [await processingJob(db), await processingJob(db, { cancelRequested: true })];
  const settled = [goes, stops].map((job) => ({ ...job, error: error(1), delaySeconds: 0 }));
  expect(await retry(db, settled)).toEqual([
    { id: goes.id, status: 'pending' },
    { id: stops.id, status: 'cancelled' },
  ]);
});

test('a job with no attempt left is refused, not stored where no claim could take it', async ({ db }) => {
  const job = await processingJob(db, { attempts: 5, maxAttempts: 5 });
  const settled = retry(db, [{ ...job, error: error(5), delaySeconds: 0 }]);
  await expect(settled).rejects.toMatchObject({ code: '23514' });
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'processing' });
});

test('a cancel request that commits while the retry waits for the row is obeyed', async ({ db, databaseUrl }) => {
  const job = await processingJob(db);
  const [asked, returned] = await inTurn(
    databaseUrl,
    (session) => cancel(session, job.id),
    (session) => retry(session, [{ ...job, error: error(1), delaySeconds: 0 }]),
  );
  expect([asked, returned]).toEqual(['requested', [{ id: job.id, status: 'cancelled' }]]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled', errors: [error(1)] });
});

test('a cancel that waits for a retry ends the job that it gave back', async ({ db, databaseUrl }) => {
  const job = await processingJob(db);
  const [returned, cancelled] = await inTurn(
    databaseUrl,
    (session) => retry(session, [{ ...job, error: error(1), delaySeconds: 0 }]),
    (session) => cancel(session, job.id),
  );
  expect([returned, cancelled]).toEqual([[{ id: job.id, status: 'pending' }], 'cancelled']);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled', errors: [error(1)], locked_by: null });
});
