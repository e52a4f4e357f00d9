import { cancel } from '../../functions/queue/cancel.ts';
import { release } from '../../functions/queue/release.ts';
import { counterOf, liveRowOf, processingJob, rowOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { inTurn } from './sessions.ts';

test('a released job is pending again, due now, with its attempt back', async ({ db }) => {
  const job = await processingJob(db, { attempts: 3 });
  await db.query(`UPDATE millrace.live_jobs SET run_at = now() - interval '1 hour'`);
  const { rows: clock } = await db.query('SELECT clock_timestamp()::text AS before');
  expect(await release(db, [{ ...job, delaySeconds: 0 }])).toEqual([{ id: job.id, status: 'pending' }]);
  expect(await liveRowOf(db, job.id)).toMatchObject({
    status: 'pending',
    attempts: 2,
    locked_by: null,
    locked_until: null,
    returned_by: job.token,
    errors: null,
  });
  const { rows } = await db.query(
    'SELECT run_at >= $1::timestamptz AND run_at <= clock_timestamp() AS now FROM millrace.live_jobs',
    [clock[0]?.before],
  );
  expect(rows).toEqual([{ now: true }]);
  expect(await counterOf(db, 'test.kind', 'released')).toBe(1);
});

test('a job in its last attempt can be released', async ({ db }) => {
  const job = await processingJob(db, { attempts: 5, maxAttempts: 5 });
  expect(await release(db, [{ ...job, delaySeconds: 0 }])).toEqual([{ id: job.id, status: 'pending' }]);
});

test('each job of a batch waits its own time', async ({ db }) => {
  const [soon, later] = [await processingJob(db), await processingJob(db)];
  await release(db, [
    { ...later, delaySeconds: 3600 },
    { ...soon, delaySeconds: 60 },
  ]);
  const { rows } = await db.query(
    `SELECT id, round(extract(epoch FROM run_at - clock_timestamp()) / 60)::int AS minutes
     FROM millrace.live_jobs ORDER BY run_at`,
  );
  expect(rows).toEqual([
    { id: soon.id, minutes: 1 },
    { id: later.id, minutes: 60 },
  ]);
});

test('a job that was to be cancelled ends cancelled', async ({ db }) => {
  const job = await processingJob(db, { cancelRequested: true });
  const before = await rowOf(db, job.id);
  const settled = [{ ...job, delaySeconds: 0 }];
  expect(await release(db, settled)).toEqual([{ id: job.id, status: 'cancelled' }]);
  const ended = { status: 'cancelled', locked_until: null, finished_at: expect.any(Date) };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended });
  expect([await counterOf(db, 'test.kind', 'cancelled'), await counterOf(db, 'test.kind', 'released')]).toEqual([1, 0]);
  expect(await release(db, settled)).toEqual([{ id: job.id, status: 'cancelled' }]);
});

test('a cancel request that commits while the release waits for the row is obeyed', async ({ db, databaseUrl }) => {
  const job = await processingJob(db);
  const answers = await inTurn(
    databaseUrl,
    (session) => cancel(session, job.id),
    (session) => release(session, [{ ...job, delaySeconds: 0 }]),
  );
  expect(answers).toEqual(['requested', [{ id: job.id, status: 'cancelled' }]]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled' });
});

test('a cancel that waits for a release ends the job that it gave back', async ({ db, databaseUrl }) => {
  const job = await processingJob(db);
  const answers = await inTurn(
    databaseUrl,
    (session) => release(session, [{ ...job, delaySeconds: 0 }]),
    (session) => cancel(session, job.id),
  );
  expect(answers).toEqual([[{ id: job.id, status: 'pending' }], 'cancelled']);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'cancelled', attempts: 0 });
});
