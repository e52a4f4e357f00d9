import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { reap } from '../../functions/queue/reap.ts';
import { remaining, runOn, until } from '../lifecycle/ground.ts';
import { counterOf, liveRowOf, pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { withSessions } from './sessions.ts';

const kind = 'test.kind';
const doing = (processor: (ctx: Context) => unknown) => ({
  contracts: { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 1 }) },
  processors: { [kind]: (_: unknown, ctx: Context) => processor(ctx) },
});

test('a job whose row somebody holds keeps no other from its end, and is completed once it is free', async ({
  db,
  databaseUrl,
}) => {
  const held = await pendingJob(db, { priority: 5 });
  const others: string[] = [];
  for (let n = 0; n < 40; n++) others.push((await pendingJob(db)).id);
  await withSessions(databaseUrl, async (operator) => {
    await operator.begin();
    const running = runOn(
      databaseUrl,
      doing(async ({ job }) => {
        if (job.id === held.id) await operator.query('SELECT millrace.cancel($1)', [held.id]);
        return 'done';
      }),
    );
    await until(async () => {
      const { rows } = await db.query('SELECT count(*)::int AS n FROM millrace.finished_jobs');
      return rows[0].n === others.length;
    });
    expect(await statusOf(db, held.id)).toBe('processing');
    await operator.commit();
    expect(await running).toMatchObject({ claimed: 41, completed: 41, unsettled: 0 });
  });
  expect(await rowOf(db, held.id)).toMatchObject({ status: 'completed', result: 'done' });
});

test('it does not keep a drain from ending either: what the run could not write is told', async ({
  db,
  databaseUrl,
}) => {
  const held = await pendingJob(db);
  const stop = new AbortController();
  await withSessions(databaseUrl, async (operator) => {
    await operator.begin();
    const running = runOn(databaseUrl, {
      ...doing(async () => {
        await operator.query('SELECT millrace.cancel($1)', [held.id]);
        stop.abort();
      }),
      remainingMs: remaining(7_000),
      signal: stop.signal,
      lingerSeconds: 60,
    });
    expect(await running).toMatchObject({ claimed: 1, completed: 0, unsettled: 1, reason: 'drained' });
  });
  expect(await statusOf(db, held.id)).toBe('processing');
});

test('a drain does not wait for a unique key, and spends no attempt on it', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db, { uniqueKey: 'invoice:7', attempts: 2 });
  const stop = new AbortController();
  await withSessions(databaseUrl, async (producer) => {
    await producer.begin();
    const summary = await runOn(databaseUrl, {
      ...doing(async ({ signal }) => {
        await pendingJob(producer, { uniqueKey: 'invoice:7' });
        stop.abort();
        await sleep(60_000, undefined, { signal });
      }),
      signal: stop.signal,
      lingerSeconds: 60,
    });
    expect(summary).toMatchObject({ claimed: 1, released: 1, unsettled: 0, reason: 'drained' });
    await producer.rollback();
  });
  await reap(db, { limit: 10 });
  expect(await liveRowOf(db, job.id)).toMatchObject({ status: 'pending', attempts: 2, reaps: 0, errors: null });
  expect(await counterOf(db, kind, 'reaped')).toBe(0);
});

test('two jobs of one key that fail in one run leave one behind', async ({ db, databaseUrl }) => {
  for (let n = 0; n < 2; n++) {
    const { id } = await pendingJob(db, { uniqueKey: 'invoice:7' });
    // As if the first had been claimed before the second was put in.
    if (n === 0) await db.query('UPDATE millrace.live_jobs SET unique_key = NULL WHERE id = $1', [id]);
  }
  let started = 0;
  const summary = await runOn(
    databaseUrl,
    doing(async () => {
      started++;
      await until(() => started === 2);
      await db.query(`UPDATE millrace.live_jobs SET unique_key = 'invoice:7'`);
      throw new Error('boom');
    }),
  );
  expect(summary).toMatchObject({ claimed: 2, retried: 1, cancelled: 1 });
});
