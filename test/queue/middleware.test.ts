import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { insertJobs } from '../../functions/queue/enqueue.ts';
import { PermanentError, RetryAfter, Snooze } from '../../functions/queue/errors.ts';
import { type Middleware, middlewareOf, NextUsedError } from '../../functions/queue/middleware.ts';
import { PayloadError } from '../../functions/queue/payload.ts';
import { type RunProcessorOptions, runProcessor } from '../../testing/index.ts';
import { runOn } from '../lifecycle/ground.ts';
import { describe, expect, test, vi } from '../support/fixtures.ts';

const payload = z.object({ n: z.number() });
const contracts = { 'test.kind': defineJob({ payload, timeoutSeconds: 5 }) };
type Run = (payload: { n: number }, ctx: Context) => unknown;

/** One attempt with these around the processor. */
function attempt(middleware: readonly Middleware[], processor: Run = ({ n }) => n, over: RunProcessorOptions = {}) {
  return runProcessor(contracts, { 'test.kind': processor }, 'test.kind', { n: 1 }, { ...over, middleware });
}

test('the first is outermost; each is told of the job, and hands on what it returns', async () => {
  const seen: unknown[] = [];
  const around =
    (name: string): Middleware =>
    async (job, next, ctx) => {
      seen.push([name, job.kind, job.attempt, ctx.job === job]);
      return [name, await next()];
    };
  const run = await attempt([around('outer'), around('inner')], ({ n }) => {
    seen.push('processor');
    return n;
  });
  expect(run).toMatchObject({ verdict: 'completed', result: ['outer', ['inner', 1]] });
  expect(seen).toEqual([['outer', 'test.kind', 1, true], ['inner', 'test.kind', 1, true], 'processor']);
});

describe('what it does with a failure decides about the job:', () => {
  const failing = () => {
    throw new Error('boom');
  };

  test('swallowed, the job is completed', async () => {
    expect(await attempt([(_, next) => next().catch(() => 'all is well')], failing)).toMatchObject({
      verdict: 'completed',
      result: 'all is well',
    });
  });

  test('replaced, the other one counts', async () => {
    const giveUp: Middleware = (_, next) =>
      next().catch((cause) => {
        throw new PermanentError('no use', { cause });
      });
    const run = await attempt([giveUp], failing);
    expect(run).toMatchObject({ verdict: 'buried', error: { name: 'PermanentError', message: 'no use; cause: boom' } });
    expect(run.thrown).toBeInstanceOf(PermanentError);
  });

  test.each([
    [new PermanentError('never'), 'buried'],
    [new Snooze(60), 'released'],
    [new RetryAfter(60), 'retried'],
  ])('let through, it means what it always does: %s', async (thrown, verdict) => {
    const seen = vi.fn();
    const watching: Middleware = async (_, next) => {
      try {
        return await next();
      } catch (error) {
        seen(error);
        throw error;
      }
    };
    const run = await attempt([watching], () => {
      throw thrown;
    });
    expect(run).toMatchObject({ verdict, thrown });
    expect(seen).toHaveBeenCalledWith(thrown);
  });

  test('a payload that does not fit is one of them', async () => {
    const seen = vi.fn();
    const watching: Middleware = (_, next) =>
      next().catch((error) => {
        seen(error);
        throw error;
      });
    const wrong = { n: 'one' as unknown as number };
    const run = await runProcessor(contracts, { 'test.kind': ({ n }) => n }, 'test.kind', wrong, {
      middleware: [watching],
    });
    expect(run).toMatchObject({ verdict: 'retried', error: { name: 'PayloadError' } });
    expect(seen.mock.calls[0]?.[0]).toBeInstanceOf(PayloadError);
  });
});

test('one that does not call next skips the processor', async () => {
  const processor = vi.fn();
  expect(await attempt([() => 'done before'], processor)).toMatchObject({
    verdict: 'completed',
    result: 'done before',
  });
  expect(processor).not.toHaveBeenCalled();
});

test('the processor runs once, however often next is called', async () => {
  const processor = vi.fn(() => 1);
  const run = await attempt([(_, next) => next().then(next)], processor);
  expect(run).toMatchObject({ verdict: 'retried', error: { name: 'NextUsedError' } });
  expect(processor).toHaveBeenCalledOnce();
});

test('one that throws before next keeps the processor from running; one that throws after it fails the job', async () => {
  const processor = vi.fn(() => 1);
  const before = () => {
    throw new Error('before');
  };
  expect(await attempt([before], processor)).toMatchObject({ verdict: 'retried', error: { message: 'before' } });
  expect(processor).not.toHaveBeenCalled();
  const after: Middleware = async (_, next) => {
    await next();
    throw new Error('after');
  };
  expect(await attempt([after], processor)).toMatchObject({ verdict: 'retried', error: { message: 'after' } });
});

test('a next that it forgot to await decides all the same, and the attempt lasts until it has', async () => {
  let ended = false;
  const slow = async () => {
    await sleep(20);
    ended = true;
    throw new Error('nobody looked');
  };
  const forgetful: Middleware = (_, next) => {
    void next();
  };
  const deeper: Middleware = async (_, next) => {
    await sleep(1);
    return next();
  };
  const run = await attempt([forgetful, deeper], slow);
  expect([run.verdict, run.error?.message, ended]).toEqual(['retried', 'nobody looked', true]);
});

test('one that gives up early waits for the processor, and its own error counts', async () => {
  let ended = false;
  const impatient: Middleware = (_, next) => Promise.race([next(), Promise.reject(new Error('too slow'))]);
  const run = await attempt([impatient], async () => {
    await sleep(20);
    ended = true;
  });
  expect([run.verdict, run.error?.message, ended]).toEqual(['retried', 'too slow', true]);
});

test('a next that is called after the middleware has ended runs nothing', async () => {
  const processor = vi.fn();
  let late: Promise<unknown> = Promise.resolve();
  const after: Middleware = (_, next) => {
    late = sleep(1).then(next);
  };
  expect(await attempt([after], processor)).toMatchObject({ verdict: 'completed' });
  await expect(late).rejects.toBeInstanceOf(NextUsedError);
  expect(processor).not.toHaveBeenCalled();
});

test('one that hangs is ended by the kind’s deadline', async () => {
  const hasty = { 'test.kind': defineJob({ payload, timeoutSeconds: 0.05 }) };
  const hanging: Middleware = () => new Promise(() => {});
  const run = await runProcessor(hasty, { 'test.kind': () => 1 }, 'test.kind', { n: 1 }, { middleware: [hanging] });
  expect(run).toMatchObject({ verdict: 'retried', error: { name: 'DeadlineError' } });
});

test('what ctx.transaction has committed stays completed, whatever is thrown around it', async ({ db }) => {
  const client = await db.connect();
  try {
    await client.query('BEGIN');
    const failing: Middleware = async (_, next) => {
      await next();
      throw new Error('too late');
    };
    const run = await attempt([failing], (_, ctx) => ctx.transaction(async () => 'kept'), { client });
    expect(run).toMatchObject({ verdict: 'completed', result: 'kept' });
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});

test('a reporter of errors tells jobs apart that run at once', async ({ db, databaseUrl }) => {
  const scopes = new AsyncLocalStorage<{ tags: Record<string, unknown> }>();
  const captured: unknown[] = [];
  const report = (error: Error) => captured.push([error.message, scopes.getStore()?.tags]);
  const reporter: Middleware = (job, next) =>
    scopes.run({ tags: { job: job.id, attempt: job.attempt } }, async () => {
      try {
        return await next();
      } catch (error) {
        report(error as Error);
        throw error;
      }
    });
  const made = await insertJobs(
    db,
    Array.from({ length: 20 }, (_, n) => ({ kind: 'test.kind', payload: { n }, maxAttempts: 1 })),
  );
  const all = Promise.withResolvers<void>();
  let inside = 0;
  const summary = await runOn(databaseUrl, {
    contracts,
    processors: {
      'test.kind': async ({ n }) => {
        // All are at work by then.
        if (++inside === 20) all.resolve();
        await all.promise;
        if (n % 2 === 0) throw new Error(`failed ${n}`);
      },
    },
    middleware: [reporter],
    concurrency: 20,
  });
  expect(summary).toMatchObject({ completed: 10, buried: 10 });
  const expected = made.flatMap(({ id }, n) => (n % 2 === 0 ? [[`failed ${n}`, { job: id, attempt: 1 }]] : []));
  expect(captured).toHaveLength(10);
  expect(captured).toEqual(expect.arrayContaining(expected));
});

test('what a module exports as middleware is an array of functions', () => {
  const one: Middleware = (_, next) => next();
  expect(middlewareOf(undefined)).toEqual([]);
  expect(middlewareOf([one])).toEqual([one]);
  expect(() => middlewareOf(one)).toThrow(/^middleware must be an array of functions .*, not a function$/);
  expect(() => middlewareOf([one, null])).toThrow(/^middleware\[1\] must be a function .*, not null$/);
});
