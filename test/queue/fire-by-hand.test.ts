import { cancel } from '../../functions/queue/cancel.ts';
import type { Db } from '../../functions/queue/db.ts';
import { fireByHand } from '../../functions/queue/fire-by-hand.ts';
import { pause } from '../../functions/queue/pause.ts';
import { counterOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { ageLog, logged, operator, sessionUser } from './operator-log.ts';
import { inTurn } from './sessions.ts';

const JOBS = `
SELECT id, kind, queue, status, max_attempts, payload, request_id, run_at <= now() AS due
FROM millrace.jobs
WHERE schedule_name = $1
ORDER BY id`;

test('makes a job of what is declared, due at once, that says which schedule it is of', async ({ db }) => {
  // As the worker of a kind with a codec declares it: what is kept is what is stored of the job.
  const payload = { '~sealed': { v: 1, data: 'AAAA' } };
  const name = await declaredSchedule(db, { kind: 'report.build', queue: 'mail', payload });
  const { rows: before } = await db.query('SELECT * FROM millrace.schedules');
  const answer = await fireByHand(db, name, operator());
  expect(answer).toEqual({ outcome: 'fired', jobId: expect.any(String) });
  expect((await db.query(JOBS, [name])).rows).toEqual([
    {
      id: answer?.jobId,
      kind: 'report.build',
      queue: 'mail',
      status: 'pending',
      max_attempts: 5,
      payload,
      request_id: expect.stringMatching(/^schedule\/report\.nightly\/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      due: true,
    },
  ]);
  expect(await counterOf(db, 'report.build', 'enqueued')).toBe(1);
  expect((await db.query('SELECT * FROM millrace.schedules')).rows, 'its fire times stay').toEqual(before);
});

test('without an operator it is the session that is written down', async ({ db }) => {
  const name = await declaredSchedule(db);
  const answer = await fireByHand(db, name);
  expect(await logged(db)).toEqual([
    {
      actor: await sessionUser(db),
      action: 'fire',
      target: { schedule: name, id: answer?.jobId },
      count: 1,
      requestId: null,
    },
  ]);
});

test('of none that is declared is an answer', async ({ db }) => {
  expect(await fireByHand(db, 'no.such', operator())).toBeUndefined();
  expect(await logged(db)).toEqual([]);
});

test('while a job of it has not ended there is no other, and nothing is written down', async ({ db }) => {
  const name = await declaredSchedule(db);
  await pause(db, 'schedule', name);
  const first = await fireByHand(db, name, operator());
  expect(await fireByHand(db, name, operator())).toEqual({ outcome: 'overlap', jobId: first?.jobId });
  expect((await logged(db)).map(({ action }) => action)).toEqual(['pause', 'fire']);
  await cancel(db, first?.jobId as string, operator());
  expect(await fireByHand(db, name, operator())).toMatchObject({ outcome: 'fired' });
});

test('of two at once one makes a job, and the other is told of it', async ({ db, databaseUrl }) => {
  const name = await declaredSchedule(db);
  const fire = (session: Db) => fireByHand(session, name, operator());
  const [first, second] = await inTurn(databaseUrl, fire, fire);
  expect(first).toMatchObject({ outcome: 'fired' });
  expect(second).toEqual({ outcome: 'overlap', jobId: first?.jobId });
  expect((await db.query(JOBS, [name])).rows).toHaveLength(1);
});

test('a request that comes again, whatever came between, is answered with its own job for ten minutes', async ({
  db,
}) => {
  const name = await declaredSchedule(db, { overlap: 'allow' });
  const other = await declaredSchedule(db, { name: 'other' });
  const mine = operator('mine');
  const first = await fireByHand(db, name, mine);
  await fireByHand(db, name, operator());
  // The same request may fire another schedule.
  expect((await fireByHand(db, other, mine))?.jobId).not.toBe(first?.jobId);
  expect(await fireByHand(db, name, mine)).toEqual(first);
  // Also once its job has ended.
  await cancel(db, first?.jobId as string, operator());
  expect(await fireByHand(db, name, mine)).toEqual(first);
  await ageLog(db, 11);
  expect((await fireByHand(db, name, mine))?.jobId).not.toBe(first?.jobId);
  expect((await db.query(JOBS, [name])).rows).toHaveLength(3);
});
