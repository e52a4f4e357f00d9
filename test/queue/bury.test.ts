import { bury } from '../../functions/queue/bury.ts';
import { counterOf, liveRowOf, processingJob, rowOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';

const error = (attempt: number) => ({ attempt, name: 'Error', message: `failed ${attempt}` });

test('a buried job is dead, with its errors, its payload and all that was known of it', async ({ db }) => {
  const fields = { attempts: 3, maxAttempts: 3, errors: [error(1), error(2)], payload: { n: [1] }, subject: 'x' };
  const origin = { requestId: 'request-7', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const job = await processingJob(db, { ...fields, ...origin, priority: 2, queue: 'mail', reaps: 1 });
  const before = await rowOf(db, job.id);
  expect(await bury(db, [{ ...job, error: error(3) }])).toEqual([job.id]);
  const errors = [error(1), error(2), error(3)];
  const ended = { status: 'dead', locked_until: null, finished_at: expect.any(Date), errors };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended });
  expect(before?.request_id).toBe('request-7');
  expect(await liveRowOf(db, job.id)).toBeUndefined();
  expect(await counterOf(db, 'test.kind', 'buried')).toBe(1);
});

test('the payload of a dead job outlives the table of payloads', async ({ db }) => {
  const job = await processingJob(db, { payload: { keep: 'me' } });
  await bury(db, [{ ...job, error: error(1) }]);
  await db.query('DELETE FROM millrace.payloads');
  expect(await rowOf(db, job.id)).toMatchObject({ payload: { keep: 'me' } });
});

test('a failure stays dead although somebody asked to cancel', async ({ db }) => {
  const job = await processingJob(db, { cancelRequested: true });
  expect(await bury(db, [{ ...job, error: error(1) }])).toEqual([job.id]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'dead', cancel_requested_at: expect.any(Date) });
});

test('the last twenty errors are kept', async ({ db }) => {
  const errors = Array.from({ length: 20 }, (_, n) => error(n + 1));
  const job = await processingJob(db, { attempts: 21, maxAttempts: 100, errors });
  await bury(db, [{ ...job, error: error(21) }]);
  expect((await rowOf(db, job.id))?.errors).toEqual([...errors.slice(1), error(21)]);
});

test('each job of a batch gets its own error', async ({ db }) => {
  const jobs = [];
  for (let n = 1; n <= 20; n++) jobs.push(await processingJob(db, { payload: { n } }));
  await bury(
    db,
    jobs.map((job, n) => ({ ...job, error: error(n) })),
  );
  for (const [n, job] of jobs.entries()) {
    expect(await rowOf(db, job.id)).toMatchObject({ errors: [error(n)], payload: { n: n + 1 } });
  }
});
