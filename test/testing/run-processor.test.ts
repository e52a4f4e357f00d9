import * as z from 'zod';
import { defineJob, type Processors } from '../../functions/queue/contract.ts';
import {
  CancelledError,
  DrainError,
  enqueue,
  get,
  PermanentError,
  RetryAfter,
  Snooze,
  UnknownKindError,
} from '../../functions/queue/index.ts';
import { enqueued, NoTransactionError, runProcessor } from '../../testing/index.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { contracts, rolledBack, rowsOutside } from './ground.ts';

type Sends = Processors<typeof contracts>['invoice.send'];

const send = (processor: Sends, options: Parameters<typeof runProcessor>[4] = {}) =>
  runProcessor(contracts, { 'invoice.send': processor }, 'invoice.send', { id: 7 }, options);
const throws = (error: unknown) => () => {
  throw error;
};

describe('without a database', () => {
  test('the payload goes through the contract, and the result through JSON', async () => {
    const run = await send(({ id, lines }) => ({ id, lines, at: new Date(0), left: undefined }));
    expect(run).toEqual({
      verdict: 'completed',
      result: { id: 7, lines: [], at: '1970-01-01T00:00:00.000Z' },
      progress: [],
      log: [],
    });
  });

  test('a job may be that of a schedule', async () => {
    const schedule = { name: 'nightly', fireAt: '2026-03-29T01:00:00.000Z' };
    expect(await send((_, ctx) => ctx.job.schedule, { job: { schedule } })).toMatchObject({ result: schedule });
    expect(await send((_, ctx) => ctx.job.schedule)).toMatchObject({ result: null });
  });

  test.each([
    ['any error', new Error('boom'), { verdict: 'retried', error: { name: 'Error', message: 'boom', attempt: 1 } }],
    ['RetryAfter', new RetryAfter(90), { verdict: 'retried', delaySeconds: 90 }],
    ['PermanentError', new PermanentError('no'), { verdict: 'buried', error: { name: 'PermanentError' } }],
    ['Snooze', new Snooze(60), { verdict: 'released', delaySeconds: 60 }],
  ])('%s', async (_, thrown, expected) => {
    const run = await send(throws(thrown));
    expect(run).toMatchObject(expected);
    expect(run.thrown).toBe(thrown);
  });

  test('the last attempt is buried', async () => {
    expect(await send(throws(new Error('boom')), { job: { attempt: 3 } })).toMatchObject({ verdict: 'buried' });
    expect(await send(throws(new Error('boom')), { job: { attempt: 2 } })).toMatchObject({ verdict: 'retried' });
  });

  test('a payload that the contract does not read fails as it would for the worker', async () => {
    const processors = { 'invoice.send': () => {} };
    const run = await runProcessor(contracts, processors, 'invoice.send', { id: 'seven' as never });
    expect(run).toMatchObject({ verdict: 'retried', error: { name: 'PayloadError' } });
  });

  test('a Date in the payload is text for the processor, as it is for the worker', async () => {
    const any = { any: defineJob({ payload: z.object({ at: z.any() }) }) };
    const run = await runProcessor(any, { any: ({ at }) => typeof at }, 'any', { at: new Date(0) });
    expect(run.result).toBe('string');
  });

  test('the deadline is the contract’s', async () => {
    const slow = { slow: defineJob({ payload: z.object({}), timeoutSeconds: 0.02 }) };
    const run = await runProcessor(
      slow,
      {
        slow: (_, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
      'slow',
      {},
    );
    expect(run).toMatchObject({ verdict: 'retried', error: { name: 'DeadlineError' } });
  });

  test('the context is the one that was asked for', async () => {
    const job = { id: 'a0e1c3a2-0d39-7a5c-8000-000000000001', attempt: 2, subject: 'invoice:7', requestId: 'r-1' };
    const { result } = await send((_, ctx) => [ctx.job, ctx.idempotencyKey], { job });
    expect(result).toMatchObject([{ ...job, kind: 'invoice.send', queue: 'default', maxAttempts: 3 }, job.id]);
  });

  test('what it says is kept', async () => {
    const { progress, log } = await send((_, ctx) => {
      ctx.progress(0.5, 'half');
      ctx.log.warn('slow', { ms: 12 });
    });
    expect(progress).toEqual([{ fraction: 0.5, note: 'half' }]);
    expect(log).toMatchObject([{ level: 'warn', message: 'slow', fields: { kind: 'invoice.send', ms: 12 } }]);
  });

  test.each([
    ['a cancel', undefined, CancelledError, { verdict: 'cancelled' }],
    ['a drain', new DrainError('the worker shuts down'), DrainError, { verdict: 'released', delaySeconds: 0 }],
  ])('is stopped by its signal: %s', async (_, reason, type, expected) => {
    const controller = new AbortController();
    const seen = Promise.withResolvers<unknown>();
    const run = send(
      (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            seen.resolve(signal.reason);
            reject(signal.reason);
          });
          controller.abort(reason);
        }),
      { signal: controller.signal },
    );
    expect(await run).toMatchObject(expected);
    expect(await seen.promise).toBeInstanceOf(type);
  });

  test('ctx.transaction says what it needs', async () => {
    const run = await send((_, ctx) => ctx.transaction(async () => {}));
    expect(run).toMatchObject({ verdict: 'retried', error: { message: expect.stringContaining('`client`') } });
  });

  test('a kind without a contract is refused', async () => {
    await expect(runProcessor(contracts, {} as never, 'constructor' as never, {} as never)).rejects.toThrow(
      UnknownKindError,
    );
  });
});

describe('with a client', () => {
  test('ctx.transaction writes in the test’s transaction, and nothing is left of the job', async ({ db }) => {
    await rolledBack(db, async (client) => {
      await client.query('CREATE TABLE sent (id int)');
      const run = await send(
        ({ id }, ctx) =>
          ctx.transaction(async (tx) => {
            await tx.query('INSERT INTO sent VALUES ($1)', [id]);
            await enqueue(tx, contracts, { kind: 'receipt.print', payload: { invoice: id } });
            return (await get(tx, ctx.job.id, { payload: true, result: false }))?.payload;
          }),
        { client },
      );
      expect(run).toMatchObject({ verdict: 'completed', result: '{"id": 7}' });
      expect((await client.query('SELECT id FROM sent')).rows).toEqual([{ id: 7 }]);
      expect((await enqueued(client)).map(({ kind }) => kind)).toEqual(['receipt.print']);
      expect((await client.query('SELECT count(*)::int AS n FROM millrace.payloads')).rows).toEqual([{ n: 1 }]);
    });
    expect(await rowsOutside(db)).toBe(0);
  });

  test('a statement that fails undoes ctx.transaction, and the test’s transaction goes on', async ({ db }) => {
    await rolledBack(db, async (client) => {
      await client.query('CREATE TABLE sent (id int)');
      const run = await send(
        (_, ctx) =>
          ctx.transaction(async (tx) => {
            await tx.query('INSERT INTO sent VALUES (1)');
            await tx.query('SELECT 1/0');
          }),
        { client },
      );
      expect(run).toMatchObject({ verdict: 'retried', error: { message: 'division by zero' } });
      expect((await client.query('SELECT id FROM sent')).rows).toEqual([]);
      expect(await enqueued(client)).toEqual([]);
    });
  });

  test('what fails after ctx.transaction fails nothing: the job is completed', async ({ db }) => {
    await rolledBack(db, async (client) => {
      const run = await send(
        async (_, ctx) => {
          await ctx.transaction(async () => 'written');
          throw new Error('boom');
        },
        { client },
      );
      expect(run).toMatchObject({ verdict: 'completed', result: 'written', thrown: { message: 'boom' } });
    });
  });

  test('a client without a transaction is refused before anything runs', async ({ db }) => {
    let ran = false;
    const run = send(
      () => {
        ran = true;
      },
      { client: db },
    );
    await expect(run).rejects.toThrow(NoTransactionError);
    expect(ran).toBe(false);
  });
});
