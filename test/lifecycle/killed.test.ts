import type pg from 'pg';
import { reap } from '../../functions/queue/reap.ts';
import { liveRowOf, rowOf } from '../support/factories.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { deedJobs } from './deeds.ts';
import { closeGate } from './gate.ts';
import { runOn, until } from './ground.ts';
import { type Deed, deed, startWorker, timePasses } from './process.ts';
import { type Proxy as Network, startProxy } from './proxy.ts';

// The server's part of it is the same for every Postgres; that of the worker is what is tested.
const test = base.skipIf(inject('postgresMajor') === 15);

const CLAIM = 'FROM millrace.claim(';
const COMPLETE = 'FROM millrace.complete(';
const RETRY = 'FROM millrace.give_back(';

/** What the worker was about when it was killed, and how often its job has begun by the time it is completed. */
const MOMENTS: [string, Deed['do'], (proxy: Network) => Promise<void>, { begun: number }][] = [
  ['its claim on the way', 'effect', (proxy) => proxy.holdStatement(CLAIM), { begun: 1 }],
  ['its claim made, and not heard of', 'effect', (proxy) => proxy.swallowAnswerTo(CLAIM), { begun: 2 }],
  ['a completion on the way', 'finish', (proxy) => proxy.holdStatement(COMPLETE), { begun: 2 }],
  ['a completion made, and not heard of', 'finish', (proxy) => proxy.swallowAnswerTo(COMPLETE), { begun: 1 }],
  ['the COMMIT of its job on the way', 'effect', (proxy) => proxy.holdStatement('COMMIT'), { begun: 2 }],
  ['the COMMIT made, and not heard of', 'effect', (proxy) => proxy.swallowAnswerTo('COMMIT'), { begun: 1 }],
];

describe('kill -9', () => {
  base.beforeEach(async ({ db }) => {
    await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid); TRUNCATE public.effects');
  });

  for (const [moment, doing, trap, { begun }] of MOMENTS) {
    test(`with ${moment}: the job completes, and its effect happens once`, async ({
      db,
      databaseUrl,
      onTestFinished,
    }) => {
      const job = await deed(db, { do: doing });
      const proxy = await startProxy(databaseUrl);
      onTestFinished(() => proxy.close());
      const sprung = trap(proxy);
      await killed(proxy.url, sprung);
      await workedOff(db, databaseUrl);
      expect(await rowOf(db, job)).toMatchObject({ status: 'completed', attempts: begun, reaps: begun - 1 });
      expect(await effects(db)).toEqual(doing === 'effect' ? [{ job }] : []);
    });
  }

  test('with a failed attempt written, and not heard of: its error is kept once', async ({
    db,
    databaseUrl,
    onTestFinished,
  }) => {
    const job = await deed(db, { do: 'fail' });
    const proxy = await startProxy(databaseUrl);
    onTestFinished(() => proxy.close());
    await killed(proxy.url, proxy.swallowAnswerTo(RETRY));
    // No lease is left behind: it waits for its second attempt.
    expect(await liveRowOf(db, job)).toMatchObject({ status: 'pending', attempts: 1, reaps: 0 });
    expect((await rowOf(db, job))?.errors).toMatchObject([{ attempt: 1, message: 'as it was told to' }]);
  });
});

describe('kill -9 while the server carries the statement out, which it does to the end', () => {
  test('a claim: the job belongs to nobody until its lease has run out', async ({ own: { pool: db, url } }) => {
    const job = await deed(db, { do: 'finish' });
    const gate = await closeGate(db, 'AFTER UPDATE ON millrace.live_jobs');
    await killed(url, gate.reached());
    expect(await liveRowOf(db, job)).toMatchObject({ status: 'pending', attempts: 0 });
    await gate.open();
    await until(async () => (await liveRowOf(db, job))?.status === 'processing');
    expect(await reap(db, { limit: 10 })).toEqual([]);
    await workedOff(db, url);
    expect(await rowOf(db, job)).toMatchObject({ status: 'completed', attempts: 2, reaps: 1 });
  });

  test('a completion: the job is completed, though nobody was told', async ({ own: { pool: db, url } }) => {
    const job = await deed(db, { do: 'finish' });
    const gate = await closeGate(db, 'AFTER DELETE ON millrace.live_jobs');
    await killed(url, gate.reached());
    expect(await rowOf(db, job)).toMatchObject({ status: 'processing' });
    await gate.open();
    await until(async () => (await rowOf(db, job))?.status === 'completed');
    await workedOff(db, url);
    expect(await rowOf(db, job)).toMatchObject({ status: 'completed', attempts: 1, reaps: 0 });
  });
});

/** A worker that is killed once `moment` has come. */
async function killed(databaseUrl: string, moment: Promise<void>): Promise<void> {
  const worker = startWorker({ databaseUrl, lingerSeconds: 60 });
  await moment;
  worker.child.kill('SIGKILL');
  expect(await worker.ended).toMatchObject({ signal: 'SIGKILL', summary: undefined });
}

/** By another worker, once all leases have run out. */
async function workedOff(db: pg.Pool, databaseUrl: string): Promise<void> {
  await timePasses(db, () => reap(db, { limit: 100 }));
  expect(await runOn(databaseUrl, deedJobs())).toMatchObject({ retried: 0, overtaken: 0, unsettled: 0 });
}

async function effects(db: pg.Pool): Promise<unknown[]> {
  return (await db.query('SELECT job FROM public.effects')).rows;
}
