import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { complete } from '../../functions/queue/complete.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { retry } from '../../functions/queue/retry.ts';
import { counterOf, deadJob, finishedJob, liveRowOf, pendingJob, processingJob, rowOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimSome } from './claiming.ts';
import { inTurn } from './sessions.ts';

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
