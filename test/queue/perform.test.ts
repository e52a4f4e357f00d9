import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { Bell } from '../../functions/queue/bell.ts';
import { ConnectionPool } from '../../functions/queue/connection-pool.ts';
import type { Context, Log } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { CancelledError, DeadlineError } from '../../functions/queue/errors.ts';
import type { ClaimedJob } from '../../functions/queue/job.ts';
import type { Middleware } from '../../functions/queue/middleware.ts';
import { type Processor, perform } from '../../functions/queue/perform.ts';
import { ProgressBoard } from '../../functions/queue/progress-board.ts';
import { Stopper } from '../../functions/queue/stopper.ts';
import { JobTransaction } from '../../functions/queue/transaction.ts';

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };
const job: ClaimedJob = {
  id: '0198c0de-0000-7000-8000-000000000001',
  token: 'token',
  kind: 'test.kind',
  queue: 'default',
  priority: 0,
  subject: 'invoice:7',
  attempts: 2,
  maxAttempts: 5,
  reaps: 0,
  runAt: '2026-01-01T00:00:00.000000Z',
  createdAt: '2026-01-01T00:00:00.000000Z',
  waitedMs: 0,
  payload: { n: 1 },
  requestId: 'request-7',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
};

function performed(
  processor: (payload: { n: number }, ctx: Context) => unknown,
  {
    timeoutSeconds = 5,
    graceSeconds = 0.05,
    payload = job.payload as unknown,
    stopper = new Stopper(),
    log = silent,
    board = new ProgressBoard(new Bell()),
    claimed = job as ClaimedJob,
    middleware = [] as readonly Middleware[],
    transaction = noTransaction(),
  } = {},
) {
  const contract = defineJob({ payload: z.object({ n: z.number() }), timeoutSeconds });
  const contracts = { [claimed.kind]: contract };
  const options = {
    stopper,
    transaction,
    progress: board.of(job),
    log,
    where: 'here',
    graceSeconds,
    middleware,
    contracts,
  };
  return perform({ ...claimed, payload }, contract, processor as Processor, options);
}

function noTransaction(): JobTransaction {
  const pool = new ConnectionPool(0, () => {
    throw new Error('none');
  });
  return new JobTransaction(job, pool, new AbortController().signal);
}

test('the processor gets the payload and a context that says which attempt it is', async () => {
  const seen = vi.fn();
  const outcome = await performed((payload, ctx) => {
    seen(payload, ctx.job, ctx.idempotencyKey, ctx.signal.aborted);
    return 'done';
  });
  expect(outcome).toEqual({ kind: 'succeeded', result: 'done' });
  const { id, kind, queue, subject, maxAttempts, createdAt, requestId, traceparent } = job;
  expect(seen).toHaveBeenCalledWith(
    { n: 1 },
    { id, kind, queue, subject, attempt: 2, maxAttempts, createdAt, requestId, traceparent, schedule: null },
    id,
    false,
  );
});

test('the context may be taken apart', async () => {
  const outcome = await performed((_, { signal, log, transaction, progress, idempotencyKey }) => {
    log.info('hello');
    progress(0.5, 'half');
    return [signal.aborted, typeof transaction, idempotencyKey];
  });
  expect(outcome).toEqual({ kind: 'succeeded', result: [false, 'function', job.id] });
});

test('what a job logs says which job it was, and which request put it in', async () => {
  const info = vi.fn();
  await performed((_, { log }) => log.info('sent', { to: 'x' }), { log: { ...silent, info } });
  const origin = { request_id: 'request-7', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' };
  expect(info).toHaveBeenCalledWith('sent', { job_id: job.id, kind: job.kind, attempt: 2, ...origin, to: 'x' });
});

test('a job that no request put in says nothing of one', async () => {
  const info = vi.fn();
  const claimed = { ...job, requestId: null, traceparent: null };
  await performed((_, { log }) => log.info('sent'), { log: { ...silent, info }, claimed });
  expect(info).toHaveBeenCalledWith('sent', { job_id: job.id, kind: job.kind, attempt: 2 });
});

test.each([
  ['that returns', () => Promise.resolve(1)],
  ['that throws', () => Promise.reject(new Error('boom'))],
  ['that is given up', () => new Promise(() => {})],
])('of a processor %s no progress is written any more', async (_, end) => {
  const board = new ProgressBoard(new Bell());
  const outcome = performed(
    (_, { progress }) => {
      progress(0.5);
      return end();
    },
    { board, timeoutSeconds: 0.05, graceSeconds: 0.01 },
  );
  await Promise.resolve();
  expect(board.restMs(performance.now())).toBe(0);
  await outcome;
  expect(board.restMs(performance.now())).toBe(Infinity);
});

test('of a processor that does not wait no progress is written at all', async () => {
  const board = new ProgressBoard(new Bell());
  await performed((_, { progress }) => progress(0.5), { board });
  expect(board.restMs(performance.now())).toBe(Infinity);
});

test('all attempts of a claim begin before the first processor runs', async () => {
  const ran = vi.fn();
  const attempts = [performed(ran), performed(ran)];
  expect(ran).not.toHaveBeenCalled();
  await Promise.all(attempts);
  expect(ran).toHaveBeenCalledTimes(2);
});

test('a failed attempt says which run it was', async () => {
  const outcome = await performed(() => Promise.reject(new Error('boom')));
  expect(outcome).toMatchObject({ kind: 'failed', error: { attempt: 2, where: 'here', message: 'boom' } });
});

test('a payload that does not fit fails the attempt, and may be tried again: contracts change while jobs wait', async () => {
  const processor = vi.fn();
  const outcome = await performed(processor, { payload: { n: 'one' } });
  expect(outcome).toMatchObject({ kind: 'failed', permanent: false, error: { name: 'PayloadError' } });
  expect(processor).not.toHaveBeenCalled();
});

test('at its deadline a job is told to stop', async () => {
  const outcome = await performed(
    (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { timeoutSeconds: 0.02, graceSeconds: 5 },
  );
  expect(outcome).toMatchObject({ kind: 'failed', permanent: false, error: { name: 'DeadlineError' } });
});

test('a signal that is first asked for after the stop is aborted already', async () => {
  const stopper = new Stopper();
  const outcome = await performed(
    async (_, ctx) => {
      stopper.stop(new CancelledError('cancel'));
      ctx.signal.throwIfAborted();
    },
    { stopper },
  );
  expect(outcome).toEqual({ kind: 'stopped' });
});

test('only the first reason to stop counts', async () => {
  const stopper = new Stopper();
  stopper.stop(new CancelledError('cancel'));
  stopper.stop(new DeadlineError('late'));
  expect(stopper.reason).toBeInstanceOf(CancelledError);
  expect(stopper.signal.reason).toBe(stopper.reason);
});

test('a processor that ignores its signal is given up after the grace', async () => {
  const started = performance.now();
  const outcome = await performed(() => new Promise(() => {}), { timeoutSeconds: 0.02, graceSeconds: 0.05 });
  expect(outcome).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('given up') } });
  expect(performance.now() - started).toBeLessThan(1_000);
});

test('a processor that rejects long after it was given up harms nobody', async () => {
  const outcome = await performed(() => sleep(100).then(() => Promise.reject(new Error('late'))), {
    timeoutSeconds: 0.01,
    graceSeconds: 0.01,
  });
  expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'DeadlineError' } });
  // An unhandled rejection would fail this file.
  await sleep(150);
});

test('what a library puts in the place of Promise changes nothing', async () => {
  vi.stubGlobal('Promise', class extends Promise<unknown> {});
  const outcome = await performed(async () => 'done').finally(() => vi.unstubAllGlobals());
  expect(outcome).toEqual({ kind: 'succeeded', result: 'done' });
});

test('what a processor returns is waited for, also a promise of another realm', async () => {
  const outcome = await performed(() => runInNewContext(`Promise.reject(new Error('from elsewhere'))`));
  expect(outcome).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('from elsewhere') } });
});

test('a processor that blocks past its deadline before it waits is stopped without a warning', async () => {
  const warned = vi.fn();
  process.on('warning', warned);
  const outcome = await performed(
    (_, { signal }) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    { timeoutSeconds: 0.01 },
  );
  await sleep(0);
  process.off('warning', warned);
  expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'DeadlineError' } });
  expect(warned).not.toHaveBeenCalled();
});

test('a job that ends within the grace keeps its result', async () => {
  const outcome = await performed(() => sleep(60, 'late but there'), { timeoutSeconds: 0.02, graceSeconds: 5 });
  expect(outcome).toEqual({ kind: 'succeeded', result: 'late but there' });
});

const thenable = {
  // biome-ignore lint/suspicious/noThenProperty: that is the test
  then: (resolve: (n: number) => void) => resolve(1),
};
const hostileThenable = {
  // biome-ignore lint/suspicious/noThenProperty: that is the test
  get then() {
    throw new Error('then');
  },
};

test.each([
  ['a value', () => 1, { kind: 'succeeded' }],
  ['a thenable', () => thenable, { kind: 'succeeded' }],
  ['a thenable whose then throws', () => hostileThenable, { kind: 'failed' }],
  [
    'a synchronous throw',
    () => {
      throw new Error('sync');
    },
    { kind: 'failed' },
  ],
  ['a rejection with null', () => Promise.reject(null), { kind: 'failed' }],
  ['a rejection with undefined', () => Promise.reject(), { kind: 'failed' }],
])('whatever a processor does, perform resolves: %s', async (_, processor, outcome) => {
  expect(await performed(processor)).toMatchObject(outcome);
});

test('a run without connections for transactions says so', async () => {
  const outcome = await performed((_, { transaction }) => transaction(async () => 1));
  expect(outcome).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('set `transactions`') } });
});
