import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import * as z from 'zod';
import { cancel } from '../../functions/queue/cancel.ts';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { reap } from '../../functions/queue/reap.ts';
import { connectTo, recorder, runOn, until } from '../lifecycle/ground.ts';
import { expireLease, pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test, vi } from '../support/fixtures.ts';

const kind = 'test.kind';
const doing = (processor: (payload: Record<string, unknown>, ctx: Context) => unknown) => ({
  contracts: { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 20 }) },
  processors: { [kind]: processor },
});

/** Rejects as soon as it is told to. */
function obedient(_: unknown, { signal }: Context): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

describe('how many at once', () => {
  const table = [
    { concurrency: 1, jobs: 5, most: 1 },
    { concurrency: 3, jobs: 12, most: 3 },
    { concurrency: 50, jobs: 5, most: 5 },
    { concurrency: 150, jobs: 150, most: 150 },
  ];
  for (const { concurrency, jobs, most } of table) {
    test(`concurrency ${concurrency} with ${jobs} jobs: ${most}`, async ({ db, databaseUrl }) => {
      await manyJobs(db, jobs);
      let now = 0;
      let seen = 0;
      const summary = await runOn(databaseUrl, {
        ...doing(async () => {
          seen = Math.max(seen, ++now);
          await sleep(150);
          now--;
        }),
        concurrency,
      });
      expect(summary).toMatchObject({ claimed: jobs, completed: jobs });
      expect(seen).toBe(most);
    });
  }

  test('two runs in one process share the work and nothing else', async ({ db, databaseUrl }) => {
    await manyJobs(db, 300);
    const runs = await Promise.all([
      runOn(
        databaseUrl,
        doing(() => sleep(1)),
      ),
      runOn(
        databaseUrl,
        doing(() => sleep(1)),
      ),
    ]);
    expect(runs.map(({ overtaken, unsettled }) => overtaken + unsettled)).toEqual([0, 0]);
    expect((runs[0]?.completed ?? 0) + (runs[1]?.completed ?? 0)).toBe(300);
    for (const { completed } of runs) expect(completed).toBeGreaterThan(0);
  });

  test('jobs that end at once are settled together, and their slots are filled together', async ({
    db,
    databaseUrl,
  }) => {
    await manyJobs(db, 1_000);
    const statements = { claims: 0, settlements: 0 };
    const connect = async () => {
      const connection = await connectTo(databaseUrl)();
      const query = connection.query.bind(connection);
      connection.query = ((text: string, values?: unknown[]) => {
        if (text.includes('FROM millrace.complete(')) statements.settlements++;
        if (text.includes('FROM millrace.claim(')) statements.claims++;
        return query(text, values);
      }) as never;
      return connection;
    };
    const short = doing(async () => {
      // Some steps that wait for nothing, as most code has.
      for (let step = 0; step < 20; step++) await null;
    });
    expect(await runOn(databaseUrl, { ...short, concurrency: 100, connect })).toMatchObject({
      completed: 1_000,
    });
    // 10 of each and the empty claim at the end; the oldest-due share may make one or two short.
    for (const sent of Object.values(statements)) {
      expect(sent).toBeGreaterThanOrEqual(10);
      expect(sent).toBeLessThanOrEqual(14);
    }
  });
});

test('urgent work does not starve the rest: every tenth slot goes to the oldest', async ({ db, databaseUrl }) => {
  const oldest = await pendingJob(db, { priority: -5, dueInSeconds: -60 });
  const older = await pendingJob(db, { priority: -5, dueInSeconds: -30 });
  for (let n = 0; n < 20; n++) await pendingJob(db, { priority: 5 });
  const order: string[] = [];
  await runOn(databaseUrl, { ...doing((_, { job }) => void order.push(job.id)), concurrency: 1 });
  expect(order).toHaveLength(22);
  // Where a run begins to count is left to chance.
  expect(order.indexOf(oldest.id)).toBeLessThan(10);
  expect(order.indexOf(older.id)).toBe(order.indexOf(oldest.id) + 10);
});

describe('several queues', () => {
  test('they take turns: a long backlog in one does not hold up another', async ({ db, databaseUrl }) => {
    await manyJobs(db, 60, 'busy');
    await manyJobs(db, 5, 'calm');
    const order: string[] = [];
    await runOn(databaseUrl, {
      ...doing(async (_, { job }) => {
        order.push(job.queue);
        await sleep(2);
      }),
      queues: ['busy', 'calm'],
      concurrency: 2,
    });
    expect(order).toHaveLength(65);
    // The last of the calm ones runs long before the busy backlog is done.
    expect(order.lastIndexOf('calm')).toBeLessThan(30);
  });

  test('default and those that contracts name are served unless told otherwise', async ({ db, databaseUrl }) => {
    const contracts = {
      [kind]: defineJob({ payload: z.looseObject({}), queue: 'mail' }),
    };
    const mail = await pendingJob(db, { queue: 'mail' });
    const usual = await pendingJob(db, { queue: 'default' });
    const other = await pendingJob(db, { queue: 'other' });
    await runOn(databaseUrl, { contracts, processors: { [kind]: () => 1 } });
    expect(await statusOf(db, mail.id)).toBe('completed');
    expect(await statusOf(db, usual.id)).toBe('completed');
    expect(await statusOf(db, other.id)).toBe('pending');
    await runOn(databaseUrl, { contracts, processors: { [kind]: () => 1 }, queues: ['other'] });
    expect(await statusOf(db, other.id)).toBe('completed');
  });
});

describe('while it runs', () => {
  test('a cancel request reaches the job within about a second, and it ends in cancelled', async ({
    db,
    databaseUrl,
  }) => {
    const jobs = [await pendingJob(db), await pendingJob(db)];
    const events = recorder();
    const running = runOn(databaseUrl, { ...doing(obedient), emit: events.emit });
    await until(() => events.named('job.claimed').length === 2);
    const asked = performance.now();
    for (const { id } of jobs) expect(await cancel(db, id)).toBe('requested');
    expect(await running).toMatchObject({ claimed: 2, cancelled: 2 });
    expect(performance.now() - asked).toBeLessThan(2_500);
    for (const { id } of jobs) expect(await statusOf(db, id)).toBe('cancelled');
    expect(events.named('job.cancelled')).toHaveLength(2);
  });

  test('a job that completes though asked to be cancelled is completed', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    const events = recorder();
    const running = runOn(databaseUrl, { ...doing(() => sleep(1_500, 'done')), emit: events.emit });
    await until(() => events.named('job.claimed').length === 1);
    await cancel(db, job.id);
    expect(await running).toMatchObject({ completed: 1, cancelled: 0 });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', result: 'done' });
  });

  test('a job whose claim was taken away is told to stop, and changes nothing', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    const events = recorder();
    const reasons: string[] = [];
    const running = runOn(databaseUrl, {
      ...doing((_, ctx) => obedient(_, ctx).catch((error) => reasons.push(error.name))),
      emit: events.emit,
    });
    await until(() => events.named('job.claimed').length === 1);
    await expireLease(db, job.id);
    await reap(db, { limit: 10 });
    expect(await running).toMatchObject({ claimed: 1, overtaken: 1 });
    expect(reasons).toEqual(['ClaimLostError']);
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', attempts: 1, result: null });
  });

  test('short jobs are never asked about', async ({ db, databaseUrl }) => {
    await manyJobs(db, 50);
    let watched = 0;
    await runOn(databaseUrl, {
      ...doing(() => sleep(50)),
      connect: async () => {
        const connection = await connectTo(databaseUrl)();
        const query = connection.query.bind(connection);
        connection.query = ((text: string, values?: unknown[]) => {
          if (text.includes('AS cancelled\nFROM unnest')) watched++;
          return query(text, values);
        }) as never;
        return connection;
      },
    });
    expect(watched).toBe(0);
  });
});

describe('suspects: jobs that were reaped twice', () => {
  test('each runs with nothing else in flight, and ordinary jobs go on between them', async ({ db, databaseUrl }) => {
    const suspects = [await pendingJob(db, { reaps: 2, attempts: 2 }), await pendingJob(db, { reaps: 3, attempts: 3 })];
    await manyJobs(db, 30);
    const inFlight = new Set<string>();
    const seen = vi.fn();
    const order: string[] = [];
    const summary = await runOn(databaseUrl, {
      ...doing(async (_, { job }) => {
        inFlight.add(job.id);
        order.push(job.id);
        await sleep(20);
        if (suspects.some(({ id }) => id === job.id)) seen([...inFlight]);
        inFlight.delete(job.id);
      }),
      concurrency: 5,
    });
    expect(summary).toMatchObject({ claimed: 32, completed: 32 });
    expect(seen.mock.calls.map(([ids]) => ids)).toEqual(suspects.map(({ id }) => [id]));
    const [first, second] = suspects.map(({ id }) => order.indexOf(id)) as [number, number];
    expect(first).toBeGreaterThan(0);
    expect(second - first).toBeGreaterThan(1);
  });

  test('a run leaves none behind', async ({ db, databaseUrl }) => {
    for (let n = 0; n < 3; n++) await pendingJob(db, { reaps: 2, attempts: 2 });
    expect(
      await runOn(
        databaseUrl,
        doing(() => sleep(5)),
      ),
    ).toMatchObject({ completed: 3, reason: 'emptied' });
  });

  test('a suspect whose kind is not here holds nothing up', async ({ db, databaseUrl }) => {
    await pendingJob(db, { kind: 'other.kind', reaps: 2 });
    await manyJobs(db, 20);
    expect(
      await runOn(
        databaseUrl,
        doing(() => sleep(5)),
      ),
    ).toMatchObject({ completed: 20 });
  });
});

async function manyJobs(db: pg.Pool, n: number, queue = 'default'): Promise<void> {
  await db.query(
    `SELECT millrace.enqueue($2, jsonb_build_object('n', n), queue => $3) FROM generate_series(1, $1::int) n`,
    [n, kind, queue],
  );
}
