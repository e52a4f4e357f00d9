import { logged } from '../queue/operator-log.ts';
import { counterOf, deadJob, finishedJob, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { expect, test as withCall } from './api.ts';
import { loopbackProxy } from './loopback-proxy.ts';

/** `network`: what lies between the handlers of this file and their database. `call` goes by way of it. */
const test = withCall
  .extend('fileNetwork', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }) => {
    const proxy = await loopbackProxy(fileDatabase.url);
    onCleanup(() => proxy.close());
    return proxy;
  })
  .extend('network', async ({ fileNetwork, call }) => {
    process.env.DATABASE_URL = fileNetwork.url;
    // The connection is there, so that the next answer is that of a statement.
    expect((await call('POST', '/queues/any/resume')).status).toBe(200);
    return fileNetwork;
  });

test('whatever an operator asks for, a lost answer is answered as if it had not been, and it is done once', async ({
  call,
  network,
  db,
}) => {
  const [pending, running] = [await pendingJob(db), await processingJob(db)];
  const [dead, done] = [await deadJob(db), await finishedJob(db)];
  const schedule = await declaredSchedule(db, { kind: 'report.build', overlap: 'allow' });
  const bulk = [await deadJob(db, { kind: 'a.kind' }), await deadJob(db, { kind: 'a.kind' })];
  for (const [method, target, status, answer, body] of [
    ['POST', `/jobs/${pending.id}/cancel`, 200, { status: 'cancelled' }],
    ['POST', `/jobs/${running.id}/cancel`, 202, { status: 'processing' }],
    ['POST', `/jobs/${dead.id}/redrive`, 200, { status: 'pending' }],
    ['POST', '/jobs/redrive', 200, { redriven: 2, skipped: 0, next_cursor: null }, { kind: 'a.kind' }],
    ['DELETE', `/jobs/${done.id}`, 204, undefined],
    ['POST', '/queues/mail/pause', 200, { queue: 'mail', paused: true }],
    ['POST', '/queues/mail/resume', 200, { queue: 'mail', paused: false }],
    ['POST', `/schedules/${schedule}/fire`, 201, { kind: 'report.build', status: 'pending' }],
  ] as const) {
    // A redrive by filter first asks whether it was done before, then what fits: the third statement is the one.
    const lost = network.loseAnswer(target === '/jobs/redrive' ? 2 : 0);
    const { status: came, body: said } = await call(method, target, body && { body });
    await lost;
    expect([target, came]).toEqual([target, status]);
    if (answer !== undefined) expect(said).toMatchObject(answer);
  }
  expect((await logged(db)).map(({ action, count }) => [action, count])).toEqual([
    ['cancel', 1],
    ['cancel', 1],
    ['redrive', 1],
    ['redrive', 2],
    ['erase', 1],
    ['pause', 1],
    ['resume', 1],
    ['fire', 1],
  ]);
  expect(await counterOf(db, 'report.build', 'enqueued')).toBe(1);
  expect(await counterOf(db, 'a.kind', 'redriven')).toBe(2);
  expect(await Promise.all([dead, ...bulk].map(({ id }) => statusOf(db, id)))).toEqual([
    'pending',
    'pending',
    'pending',
  ]);
});
