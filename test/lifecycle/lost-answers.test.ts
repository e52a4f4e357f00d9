import { randomUUID } from 'node:crypto';
import pg from 'pg';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { counterOf, pendingJob, rowOf } from '../support/factories.ts';
import { describe, expect, test as plain } from '../support/fixtures.ts';
import { recorder, remaining, runOn } from './ground.ts';
import { startProxy } from './proxy.ts';

const kind = 'test.kind';
const doing = (processor: (payload: Record<string, unknown>, ctx: Context) => unknown) => ({
  contracts: { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 5 }) },
  processors: { [kind]: processor },
});

const CLAIM = 'FROM millrace.claim(';
const COMPLETE = 'FROM millrace.complete(';
const RETRY = 'FROM millrace.give_back(';
const PROGRESS = 'INSERT INTO millrace.job_progress';

const test = plain.extend('proxy', async ({ databaseUrl }, { onCleanup }) => {
  const proxy = await startProxy(databaseUrl);
  onCleanup(() => proxy.close());
  return proxy;
});

describe('a lost answer is not a failure', () => {
  test('to an enqueue: sent again with its id it makes one job, and answers the first', async ({ db, proxy }) => {
    const id = (await db.query('SELECT millrace.uuidv7() AS id')).rows[0].id as string;
    const lost = proxy.loseAnswerTo('millrace.enqueue');
    const client = new pg.Client({ connectionString: proxy.url });
    client.on('error', () => {});
    await client.connect();
    await expect(insertJob(client, { id, kind, payload: { n: 1 } })).rejects.toThrow();
    await lost;
    expect(await insertJob(db, { id, kind, payload: { n: 1 } })).toMatchObject({ id });
    expect((await db.query('SELECT id FROM millrace.jobs')).rows).toEqual([{ id }]);
    expect(await counterOf(db, kind, 'enqueued')).toBe(1);
  });

  test('to a claim: its jobs are given back with their attempt, and claimed anew', async ({ db, proxy }) => {
    const jobs = [await pendingJob(db), await pendingJob(db)];
    const lost = proxy.loseAnswerTo(CLAIM);
    const events = recorder();
    const summary = await runOn(proxy.url, { ...doing(() => 'done'), emit: events.emit });
    await lost;
    expect(summary).toMatchObject({ claimed: 2, completed: 2 });
    expect(events.named('database.failed')).toMatchObject([{ during: 'claim' }]);
    for (const { id } of jobs) expect(await rowOf(db, id)).toMatchObject({ status: 'completed', attempts: 1 });
  });

  test('to a claim that is waited for in vain: given up after its time, and the same', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const swallowed = proxy.swallowAnswerTo(CLAIM);
    const events = recorder();
    const summary = await runOn(proxy.url, { ...doing(() => 'done'), statementSeconds: 0.5, emit: events.emit });
    await swallowed;
    expect(summary).toMatchObject({ claimed: 1, completed: 1 });
    expect(events.named('database.failed')).toMatchObject([{ during: 'claim', code: 'database_timeout' }]);
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1 });
  });

  test('to the last claim of a run: there is no time to claim anew, but the job is free, its attempt unspent', async ({
    db,
    proxy,
  }) => {
    const job = await pendingJob(db);
    const swallowed = proxy.swallowAnswerTo(CLAIM);
    const summary = await runOn(proxy.url, {
      ...doing(() => 'done'),
      statementSeconds: 1,
      remainingMs: remaining(10_500),
    });
    await swallowed;
    expect(summary).toMatchObject({ claimed: 0, reason: 'deadline' });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('to a settlement: it is sent again until it is heard, and counted once', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = proxy.loseAnswerTo(COMPLETE);
    const summary = await runOn(
      proxy.url,
      doing(() => 'done'),
    );
    await lost;
    expect(summary).toMatchObject({ claimed: 1, completed: 1, overtaken: 0, unsettled: 0 });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1, result: 'done' });
    expect(await counterOf(db, kind, 'completed')).toBe(1);
  });

  test('to a retry: the error is kept once, the attempt spent once', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = proxy.loseAnswerTo(RETRY);
    const summary = await runOn(
      proxy.url,
      doing(() => Promise.reject(new Error('boom'))),
    );
    await lost;
    expect(summary).toMatchObject({ claimed: 1, retried: 1 });
    const row = await rowOf(db, job.id);
    expect(row).toMatchObject({ status: 'pending', attempts: 1, errors: [{ message: 'boom' }] });
    expect(row?.errors).toHaveLength(1);
  });

  test('to what a job says of its progress: the job hears nothing of it', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = proxy.loseAnswerTo(PROGRESS);
    const summary = await runOn(
      proxy.url,
      doing(async (_, { progress, signal }) => {
        progress(0.5);
        await lost;
        return signal.aborted;
      }),
    );
    expect(summary).toMatchObject({ claimed: 1, completed: 1 });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1, result: false });
  });

  test('a statement that never arrived is sent again', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = Promise.all([proxy.loseStatement(CLAIM), proxy.loseStatement(COMPLETE)]);
    expect(
      await runOn(
        proxy.url,
        doing(() => 'done'),
      ),
    ).toMatchObject({ claimed: 1, completed: 1 });
    await lost;
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1 });
  });
});

describe('exactly-once effects', () => {
  const counting = (_: unknown, ctx: Context) =>
    ctx.transaction(async (tx) => {
      await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [ctx.job.id]);
      return 'done';
    });

  test.beforeEach(async ({ db }) => {
    await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid)');
    await db.query('TRUNCATE public.effects');
  });

  test('a BEGIN never arrived: it is sent again, and costs no attempt', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = proxy.loseStatement('BEGIN');
    expect(await runOn(proxy.url, doing(counting))).toMatchObject({ claimed: 1, completed: 1 });
    await lost;
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1 });
  });

  test('the answer to a COMMIT is lost: the row is asked, and it was committed', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = proxy.loseAnswerTo('COMMIT');
    expect(await runOn(proxy.url, doing(counting))).toMatchObject({ claimed: 1, completed: 1, retried: 0 });
    await lost;
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1, result: 'done', errors: [] });
    expect((await db.query('SELECT FROM public.effects')).rowCount).toBe(1);
  });

  test('a COMMIT never arrived: the row is asked, and it was rolled back', async ({ db, proxy }) => {
    const job = await pendingJob(db);
    const lost = proxy.loseStatement('COMMIT');
    expect(await runOn(proxy.url, doing(counting))).toMatchObject({ claimed: 1, completed: 0, retried: 1 });
    await lost;
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect((await db.query('SELECT FROM public.effects')).rowCount).toBe(0);
  });
});

describe('fenced', () => {
  test('tokens are fresh for each claim', async ({ db, databaseUrl }) => {
    const tokens = new Set<string>();
    for (let n = 0; n < 3; n++) {
      const job = await pendingJob(db);
      await runOn(
        databaseUrl,
        doing(() => 1),
      );
      tokens.add((await rowOf(db, job.id))?.locked_by);
    }
    expect(tokens.size).toBe(3);
    expect(tokens).not.toContain(randomUUID());
  });
});
