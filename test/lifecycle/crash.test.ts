import type pg from 'pg';
import { reap } from '../../functions/queue/reap.ts';
import { liveRowOf, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { deed, startWorker, timePasses } from './process.ts';

/** Starts workers one after the other, with time for leases and delays to pass between them, until no job is left. */
async function workToTheEnd(db: pg.Pool, databaseUrl: string): Promise<number> {
  const left = async () => (await db.query('SELECT FROM millrace.live_jobs')).rowCount as number;
  for (let workers = 0; ; workers++) {
    if ((await left()) === 0) return workers;
    await startWorker({ databaseUrl }).ended;
    await timePasses(db, () => reap(db, { limit: 100 }));
  }
}

describe('one bad job never kills the others', () => {
  test('one crasher with nine innocents: nine complete', async ({ db, databaseUrl }) => {
    const crasher = await deed(db, { do: 'crash', ms: 30 });
    const innocents = await Promise.all(Array.from({ length: 9 }, () => deed(db, { do: 'finish', ms: 100 })));
    await workToTheEnd(db, databaseUrl);
    const { rows } = await db.query('SELECT status, attempts FROM millrace.jobs WHERE id = ANY ($1)', [innocents]);
    // Two rounds died with the crasher in them; from then on each ran with nothing else in flight.
    expect(rows).toEqual(innocents.map(() => ({ status: 'completed', attempts: 3 })));
    const row = await rowOf(db, crasher);
    expect(row).toMatchObject({ status: 'dead', attempts: 5, reaps: 5 });
    expect(row?.errors.map(({ name }: { name: string }) => name)).toEqual(Array(5).fill('LeaseExpired'));
  });

  test('a processor that blocks the event loop takes its run with it, until it is buried; the others complete', async ({
    db,
    databaseUrl,
  }) => {
    const blocker = await deed(db, { do: 'block', ms: 50 }, { maxAttempts: 4 });
    const innocents = await Promise.all(
      Array.from({ length: 3 }, () => deed(db, { do: 'finish', ms: 100 }, { maxAttempts: 4 })),
    );
    while ((await statusOf(db, blocker)) !== 'dead') {
      const worker = startWorker({ databaseUrl });
      await worker.said('job.claimed');
      // The hard timeout of whatever runs the worker.
      const timer = setTimeout(() => worker.child.kill('SIGKILL'), 400);
      await worker.ended;
      clearTimeout(timer);
      await timePasses(db, () => reap(db, { limit: 100 }));
    }
    await workToTheEnd(db, databaseUrl);
    for (const id of innocents) expect(await statusOf(db, id)).toBe('completed');
  });

  test('promises that a processor leaves behind do not end the process', async ({ db, databaseUrl }) => {
    const stray = await deed(db, { do: 'stray' });
    const other = await deed(db, { do: 'finish', ms: 300 });
    const worker = startWorker({ databaseUrl });
    expect(await worker.ended).toMatchObject({ code: 0, summary: { completed: 2 } });
    expect(worker.messages.filter(({ name }) => name === 'log')).toHaveLength(3);
    for (const id of [stray, other]) expect(await statusOf(db, id)).toBe('completed');
  });
});

describe('a crash spends an attempt, a deploy does not', () => {
  test('SIGTERM drains: everything in flight goes back with its attempt, at once', async ({ db, databaseUrl }) => {
    const jobs = await Promise.all(Array.from({ length: 4 }, () => deed(db, { do: 'wait' })));
    const worker = startWorker({ databaseUrl, lingerSeconds: 60 });
    await worker.said('job.claimed', 4);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, summary: { claimed: 4, released: 4, reason: 'drained' } });
    for (const id of jobs) expect(await liveRowOf(db, id)).toMatchObject({ status: 'pending', attempts: 0, reaps: 0 });
  });

  test('SIGKILL does: the leases run out, and the attempts are spent', async ({ db, databaseUrl }) => {
    const jobs = await Promise.all(Array.from({ length: 4 }, () => deed(db, { do: 'wait' })));
    const worker = startWorker({ databaseUrl, lingerSeconds: 60 });
    await worker.said('job.claimed', 4);
    worker.child.kill('SIGKILL');
    await worker.ended;
    await timePasses(db, () => reap(db, { limit: 100 }));
    for (const id of jobs) expect(await liveRowOf(db, id)).toMatchObject({ status: 'pending', attempts: 1, reaps: 1 });
  });
});
