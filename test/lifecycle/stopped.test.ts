import type pg from 'pg';
import { reap } from '../../functions/queue/reap.ts';
import { rowOf } from '../support/factories.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { deedJobs } from './deeds.ts';
import { closeGate } from './gate.ts';
import { runOn, until } from './ground.ts';
import { deed, startWorker } from './process.ts';
import { startProxy } from './proxy.ts';

const test = base.skipIf(inject('postgresMajor') === 15);

/** Leases that run out within two seconds by themselves. */
const SHORT = { timeoutSeconds: 1, leaseMarginSeconds: 0.2 };
const COMPLETE = 'FROM millrace.complete(';

describe('stopped past its lease and a reap, a worker that goes on settles nothing, and says so', () => {
  base.beforeEach(async ({ db }) => {
    await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid); TRUNCATE public.effects');
  });

  test('of jobs that ran meanwhile: some wait for their next attempt, some were done by another', async ({
    db,
    databaseUrl,
  }) => {
    const waiting = [await deed(db, { do: 'finish', ms: 50 }), await deed(db, { do: 'effect', ms: 50 })];
    const done = [await deed(db, { do: 'finish', ms: 50 }), await deed(db, { do: 'effect', ms: 50 })];
    const worker = startWorker({ databaseUrl, ...SHORT });
    await worker.said('job.claimed', 4);
    worker.child.kill('SIGSTOP');
    await reaped(db, 4);
    await db.query(`UPDATE millrace.live_jobs SET run_at = run_at + interval '1 hour' WHERE id = ANY ($1)`, [waiting]);
    await db.query('UPDATE millrace.live_jobs SET run_at = clock_timestamp() WHERE id = ANY ($1)', [done]);
    expect(await runOn(databaseUrl, deedJobs())).toMatchObject({ claimed: 2, completed: 2 });
    const before = await rowsOf(db, [...waiting, ...done]);
    expect(before).toMatchObject([
      ...waiting.map(() => ({ status: 'pending', attempts: 1, reaps: 1 })),
      ...done.map(() => ({ status: 'completed', attempts: 2, reaps: 1 })),
    ]);

    worker.child.kill('SIGCONT');
    expect(await worker.ended).toMatchObject({ code: 0, summary: { claimed: 4, overtaken: 4, unsettled: 0 } });
    const overtaken = worker.messages.flatMap((message) => (message.name === 'job.overtaken' ? message.id : []));
    expect(overtaken.sort()).toEqual([...waiting, ...done].sort());
    expect(await rowsOf(db, [...waiting, ...done])).toEqual(before);
    expect((await db.query('SELECT job FROM public.effects')).rows).toEqual([{ job: done[1] }]);
  });

  test('of a claim that was answered while it stood still: the job begins, and changes nothing', async ({
    own: { pool: db, url },
  }) => {
    await db.query('CREATE TABLE public.effects (job uuid)');
    const jobs = [await deed(db, { do: 'finish' }), await deed(db, { do: 'effect' })];
    const gate = await closeGate(db, 'AFTER UPDATE ON millrace.live_jobs');
    const worker = startWorker({ databaseUrl: url });
    await gate.reached();
    worker.child.kill('SIGSTOP');
    await gate.open();
    await until(() => expired(db));
    await reaped(db, 2);
    await db.query(`UPDATE millrace.live_jobs SET run_at = run_at + interval '1 hour'`);
    const before = await rowsOf(db, jobs);

    worker.child.kill('SIGCONT');
    expect(await worker.ended).toMatchObject({ code: 0, summary: { claimed: 2, overtaken: 2, unsettled: 0 } });
    expect(await rowsOf(db, jobs)).toEqual(before);
    expect((await db.query('SELECT FROM public.effects')).rowCount).toBe(0);
  });

  test('before its COMMIT: the server ends the transaction that nobody goes on with, so that the reaper can have the job', async ({
    own: { pool: db, directUrl: url },
    onTestFinished,
  }) => {
    await db.query('CREATE TABLE public.effects (job uuid)');
    const database = new URL(url).pathname.slice(1);
    // As the roles of the functions have it, in short.
    await db.query(`ALTER DATABASE ${database} SET idle_in_transaction_session_timeout = '200ms'`);
    const job = await deed(db, { do: 'effect' });
    const proxy = await startProxy(url);
    onTestFinished(() => proxy.close());
    const completed = proxy.swallowAnswerTo(COMPLETE);
    const worker = startWorker({ databaseUrl: proxy.url });
    await completed;
    worker.child.kill('SIGSTOP');
    await expired(db);
    await reaped(db, 1);
    await db.query(`UPDATE millrace.live_jobs SET run_at = run_at + interval '1 hour'`);
    const before = await rowOf(db, job);

    worker.child.kill('SIGCONT');
    expect(await worker.ended).toMatchObject({ code: 0, summary: { claimed: 1, overtaken: 1 } });
    expect(await rowOf(db, job)).toEqual(before);
    expect((await db.query('SELECT FROM public.effects')).rowCount).toBe(0);
  });
});

/** Reaps as leases run out, until so many were. */
async function reaped(db: pg.Pool, count: number): Promise<void> {
  let seen = 0;
  await until(async () => {
    seen += (await reap(db, { limit: 100 })).length;
    return seen === count;
  });
}

/** As if the leases had run out; waits for who holds the rows. Resolves how many there were. */
async function expired(db: pg.Pool): Promise<number | null> {
  const { rowCount } = await db.query(
    `UPDATE millrace.live_jobs SET locked_until = clock_timestamp() - interval '1 second' WHERE status = 'processing'`,
  );
  return rowCount;
}

function rowsOf(db: pg.Pool, ids: readonly string[]): Promise<unknown[]> {
  return Promise.all(ids.map((id) => rowOf(db, id)));
}
