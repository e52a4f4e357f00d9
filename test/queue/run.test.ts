import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { PermanentError, RetryAfter, Snooze } from '../../functions/queue/errors.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { RunFailedError } from '../../functions/queue/run.ts';
import { connectTo, recorder, remaining, runOn, until } from '../lifecycle/ground.ts';
import { counterOf, pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, inject, test, vi } from '../support/fixtures.ts';

const kind = 'test.kind';
const contracts = { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 5, maxAttempts: 5 }) };
const doing = (processor: (payload: Record<string, unknown>, ctx: Context) => unknown) => ({
  contracts,
  processors: { [kind]: processor },
});

describe('what becomes of a job', () => {
  test('done: completed with its result, in one claim and one settlement', async ({ db, databaseUrl }) => {
    const jobs = await Promise.all(Array.from({ length: 10 }, (_, n) => pendingJob(db, { payload: { n } })));
    const events = recorder();
    const summary = await runOn(databaseUrl, { ...doing(({ n }) => ({ n })), emit: events.emit });
    expect(summary).toMatchObject({ claimed: 10, completed: 10, unsettled: 0, reason: 'emptied' });
    for (const [n, job] of jobs.entries()) {
      expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1, result: { n } });
    }
    expect(events.named('claim.made').map(({ claimed }) => claimed)).toEqual([10, 0]);
    expect(events.named('job.completed')).toHaveLength(10);
    expect(events.named('job.claimed')[0]).toMatchObject({ kind, attempt: 1, waitedMs: expect.any(Number) });
    expect(await counterOf(db, kind, 'completed')).toBe(10);
  });

  test('suspect: one after the other, with no rest between them and nothing beside them', async ({
    db,
    databaseUrl,
  }) => {
    for (let n = 0; n < 20; n++) await pendingJob(db, { reaps: n % 10 === 0 ? 0 : 2, payload: { alone: n % 10 > 0 } });
    let running = 0;
    const beside: number[] = [];
    const summary = await runOn(
      databaseUrl,
      doing(async ({ alone }) => {
        running++;
        await sleep(1);
        if (alone) beside.push(running - 1);
        running--;
      }),
    );
    expect(summary).toMatchObject({ completed: 20, reason: 'emptied' });
    expect(beside).toEqual(Array(18).fill(0));
    // An empty queue rests for POLL_MS; so would these, twice as long as they may take.
    expect(summary.durationMs).toBeLessThan(18 * 50);
  });

  test('failed: retried later by its backoff, with the error kept', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    const events = recorder();
    const summary = await runOn(databaseUrl, {
      ...doing(() => {
        throw new TypeError('boom');
      }),
      emit: events.emit,
    });
    expect(summary).toMatchObject({ claimed: 1, retried: 1 });
    const row = await rowOf(db, job.id);
    expect(row).toMatchObject({
      status: 'pending',
      attempts: 1,
      errors: [{ attempt: 1, name: 'TypeError', message: 'boom' }],
    });
    expect(row?.run_at.getTime()).toBeGreaterThan(Date.now());
    expect(events.named('job.retried')[0]).toMatchObject({
      attempt: 1,
      error: { name: 'TypeError' },
      delaySeconds: expect.any(Number),
    });
  });

  test('failed: the error says where, by default on which host and in which process', async ({ db, databaseUrl }) => {
    const [named, unnamed] = [await pendingJob(db, { kind: 'named' }), await pendingJob(db, { kind: 'unnamed' })];
    const failing = (kind: string) => ({
      contracts: { [kind]: defineJob({ payload: z.unknown() }) },
      processors: { [kind]: () => Promise.reject(new Error('boom')) },
    });
    await runOn(databaseUrl, { ...failing('named'), where: 'a container' });
    await runOn(databaseUrl, failing('unnamed'));
    expect((await rowOf(db, named.id))?.errors).toMatchObject([{ where: 'a container' }]);
    expect((await rowOf(db, unnamed.id))?.errors).toMatchObject([{ where: `${hostname()}:${process.pid}` }]);
  });

  test('done with a result of 256 KiB: kept; a byte more: dead, for it would only return it again', async ({
    db,
    databaseUrl,
  }) => {
    // Two of them are the quotes of its JSON.
    const [most, more] = ['x'.repeat(262_142), 'x'.repeat(262_143)];
    const [kept, refused] = [await pendingJob(db), await pendingJob(db)];
    const summary = await runOn(
      databaseUrl,
      doing((_, { job }) => (job.id === kept.id ? most : more)),
    );
    expect(summary).toMatchObject({ completed: 1, buried: 1 });
    expect(await rowOf(db, kept.id)).toMatchObject({ status: 'completed', result: most });
    expect(await rowOf(db, refused.id)).toMatchObject({
      status: 'dead',
      attempts: 1,
      errors: [{ name: 'UnstorableError', message: expect.stringContaining('262144 bytes') }],
    });
  });

  test('many large results at once: each is kept, whatever the others take', async ({ db, databaseUrl }) => {
    const jobs = await Promise.all(Array.from({ length: 40 }, (_, n) => pendingJob(db, { payload: { n } })));
    const summary = await runOn(databaseUrl, { ...doing(({ n }) => String(n).repeat(100_000)), concurrency: 40 });
    expect(summary).toMatchObject({ completed: 40 });
    for (const [n, { id }] of jobs.entries()) expect((await rowOf(db, id))?.result).toBe(String(n).repeat(100_000));
  });

  test('failed for the last time: dead', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db, { attempts: 4, maxAttempts: 5 });
    expect(
      await runOn(
        databaseUrl,
        doing(() => {
          throw new Error('boom');
        }),
      ),
    ).toMatchObject({ buried: 1 });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'dead', attempts: 5 });
  });

  test('PermanentError: dead at once', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    expect(
      await runOn(
        databaseUrl,
        doing(() => {
          throw new PermanentError('no');
        }),
      ),
    ).toMatchObject({ buried: 1 });
    expect(await statusOf(db, job.id)).toBe('dead');
  });

  test('RetryAfter: due again then', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    await runOn(
      databaseUrl,
      doing(() => {
        throw new RetryAfter(3600);
      }),
    );
    expect(await dueInSeconds(db, job.id)).toBeCloseTo(3600, -2);
    expect(await rowOf(db, job.id)).toMatchObject({ attempts: 1 });
  });

  test('Snooze: due again then, and nothing counted', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    expect(
      await runOn(
        databaseUrl,
        doing(() => {
          throw new Snooze(3600);
        }),
      ),
    ).toMatchObject({ released: 1 });
    expect(await dueInSeconds(db, job.id)).toBeCloseTo(3600, -2);
    expect(await rowOf(db, job.id)).toMatchObject({ attempts: 0, errors: [] });
  });

  test('kinds without a processor here stay pending', async ({ db, databaseUrl }) => {
    const other = await pendingJob(db, { kind: 'other.kind' });
    expect(
      await runOn(
        databaseUrl,
        doing(() => 1),
      ),
    ).toMatchObject({ claimed: 0 });
    expect(await rowOf(db, other.id)).toMatchObject({ status: 'pending', attempts: 0 });
  });
});

describe('workers of different queues', () => {
  test('each takes what is in its own, and together nothing is unclaimed', async ({ db, databaseUrl }) => {
    const both = {
      contracts: {
        ...contracts,
        'slow.kind': defineJob({ payload: z.unknown(), timeoutSeconds: 60, queue: 'slow' }),
      },
      processors: { [kind]: () => 'quick', 'slow.kind': () => 'slow' } as never,
    };
    const quick = await Promise.all(Array.from({ length: 30 }, () => pendingJob(db)));
    const slow = await Promise.all(
      Array.from({ length: 30 }, () => pendingJob(db, { kind: 'slow.kind', queue: 'slow' })),
    );
    const [quicks, slows] = await Promise.all([
      runOn(databaseUrl, { ...both, queues: ['default'], remainingMs: remaining(20_000) }),
      runOn(databaseUrl, { ...both, queues: ['slow'], remainingMs: remaining(80_000) }),
    ]);
    expect([quicks, slows].map(({ completed }) => completed)).toEqual([30, 30]);
    for (const { id } of [...quick, ...slow]) expect(await statusOf(db, id)).toBe('completed');

    // Each has left marks for its own next run alone, and they hide nothing of what comes.
    const { rows } = await db.query('SELECT queue, kinds FROM millrace.claim_marks ORDER BY queue');
    expect(rows).toEqual([
      { queue: 'default', kinds: [kind] },
      { queue: 'slow', kinds: ['slow.kind', kind] },
    ]);
    await pendingJob(db);
    await pendingJob(db, { kind: 'slow.kind', queue: 'slow' });
    const unclaimed = { unclaimedKinds: [], unclaimedQueues: [], kindsUnclaimed: 0 };
    expect(await readiness(db)).toMatchObject(unclaimed);
    for (const [queue, ms] of [
      ['default', 20_000],
      ['slow', 80_000],
    ] as const)
      expect(await runOn(databaseUrl, { ...both, queues: [queue], remainingMs: remaining(ms) })).toMatchObject({
        completed: 1,
      });
  });
});

describe('how a run ends', () => {
  test('without lingering: when nothing is due, with everything done that it claimed', async ({ db, databaseUrl }) => {
    for (let n = 0; n < 25; n++) await pendingJob(db);
    const summary = await runOn(databaseUrl, { ...doing(() => sleep(5)), concurrency: 4 });
    expect(summary).toMatchObject({ claimed: 25, completed: 25, reason: 'emptied' });
  });

  test('lingering: it goes on asking for so long after it last had something to do', async ({ db, databaseUrl }) => {
    const events = recorder();
    const running = runOn(databaseUrl, { ...doing(() => sleep(600)), lingerSeconds: 0.7, emit: events.emit });
    await until(() => events.named('claim.made').length >= 2);
    const job = await pendingJob(db);
    const summary = await running;
    expect(summary).toMatchObject({ claimed: 1, completed: 1, reason: 'emptied' });
    expect(summary.durationMs).toBeGreaterThanOrEqual(600 + 700);
    expect(await statusOf(db, job.id)).toBe('completed');
  });

  test('after claimSeconds: it claims no more, whatever there is, and finishes what it holds', async ({
    db,
    databaseUrl,
  }) => {
    const first = await pendingJob(db, { dueInSeconds: -1 });
    const second = await pendingJob(db);
    const options = { ...doing(() => sleep(600)), concurrency: 1, lingerSeconds: Infinity, claimSeconds: 0.3 };
    expect(await runOn(databaseUrl, options)).toMatchObject({ completed: 1, reason: 'relieved' });
    expect(await statusOf(db, first.id)).toBe('completed');
    expect(await statusOf(db, second.id)).toBe('pending');
  });

  test('a quiet run polls ten times a second, no more', async ({ databaseUrl }) => {
    const events = recorder();
    await runOn(databaseUrl, { ...doing(() => 1), lingerSeconds: 1, emit: events.emit });
    expect(events.named('claim.made').length).toBeLessThanOrEqual(11);
    expect(events.named('claim.made').length).toBeGreaterThanOrEqual(5);
  });

  test('a kind that does not fit into the remaining time is left for the next run', async ({ db, databaseUrl }) => {
    const slow = await pendingJob(db, { kind: 'slow.kind' });
    const quick = await pendingJob(db);
    const summary = await runOn(databaseUrl, {
      contracts: { ...contracts, 'slow.kind': defineJob({ payload: z.unknown(), timeoutSeconds: 60 }) },
      processors: { [kind]: () => 1, 'slow.kind': () => 1 } as never,
      remainingMs: remaining(20_000),
    });
    expect(summary).toMatchObject({ claimed: 1 });
    expect(await statusOf(db, quick.id)).toBe('completed');
    expect(await rowOf(db, slow.id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a kind that takes longer than any run is none of its kinds: nobody believes that it is claimed, and marks are left', async ({
    db,
    databaseUrl,
  }) => {
    await pendingJob(db, { kind: 'slow.kind' });
    await pendingJob(db);
    await runOn(databaseUrl, {
      contracts: { ...contracts, 'slow.kind': defineJob({ payload: z.unknown(), timeoutSeconds: 60 }) },
      processors: { [kind]: () => 1, 'slow.kind': () => 1 } as never,
      remainingMs: remaining(20_000),
    });
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: ['slow.kind'], unclaimedQueues: [] });
    const { rows } = await db.query(`SELECT kinds, '-infinity' <> ALL (marks) AS seen FROM millrace.claim_marks`);
    expect(rows).toEqual([{ kinds: [kind], seen: true }]);
  });

  test('what a shortened set of kinds has seen hides nothing from the next run', async ({ db, databaseUrl }) => {
    const slow = await pendingJob(db, { kind: 'slow.kind', dueInSeconds: -20 });
    const both = {
      contracts: { ...contracts, 'slow.kind': defineJob({ payload: z.unknown(), timeoutSeconds: 30 }) },
      processors: { [kind]: () => 1, 'slow.kind': () => 1 } as never,
    };
    await runOn(databaseUrl, { ...both, remainingMs: remaining(20_000) });
    await runOn(databaseUrl, both);
    expect(await statusOf(db, slow.id)).toBe('completed');
  });

  test('near its deadline it stops what runs, and gives it back with its attempt', async ({ db, databaseUrl }) => {
    const obedient = await pendingJob(db, { payload: { obey: true } });
    const deaf = await pendingJob(db, { payload: {} });
    const reasons: string[] = [];
    let running = 0;
    let deadline = remaining(60_000);
    const summary = await runOn(databaseUrl, {
      ...doing(({ obey }, { signal }) => {
        // A job that fits ends by its own deadline before the margin, unless the clock jumps: a laptop that slept.
        if (++running === 2) deadline = remaining(5_000);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason.name);
            if (obey) reject(signal.reason);
          });
        });
      }),
      remainingMs: () => deadline(),
      lingerSeconds: 60,
    });
    expect(reasons).toEqual(['DrainError', 'DrainError']);
    expect(summary).toMatchObject({ claimed: 2, released: 2, reason: 'deadline' });
    expect(summary.durationMs).toBeLessThan(5_000);
    for (const { id } of [obedient, deaf])
      expect(await rowOf(db, id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('told to drain: it claims no more, and what does not finish goes back with its attempt', async ({
    db,
    databaseUrl,
  }) => {
    for (let n = 0; n < 20; n++) await pendingJob(db);
    const shutdown = new AbortController();
    const started = vi.fn();
    const events = recorder();
    const running = runOn(databaseUrl, {
      ...doing((_, { signal }) => {
        started();
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }),
      lingerSeconds: 60,
      signal: shutdown.signal,
      emit: events.emit,
    });
    await until(() => started.mock.calls.length === 10);
    shutdown.abort();
    expect(await running).toMatchObject({ claimed: 10, released: 10, reason: 'drained' });
    expect(events.named('run.drained')).toEqual([{ name: 'run.drained', released: 10 }]);
    const { rows } = await db.query('SELECT DISTINCT status, attempts FROM millrace.live_jobs');
    expect(rows).toEqual([{ status: 'pending', attempts: 0 }]);
  });

  test('told to drain before it began, it does nothing', async ({ db, databaseUrl }) => {
    await pendingJob(db);
    expect(await runOn(databaseUrl, { ...doing(() => 1), signal: AbortSignal.abort() })).toMatchObject({
      claimed: 0,
      reason: 'drained',
    });
  });

  test('a schema that is not there ends it at once, as a failure of the database', async ({ db, databaseUrl }) => {
    await db.query('CREATE SCHEMA hidden');
    await db.query('ALTER TABLE millrace.claim_marks SET SCHEMA hidden');
    try {
      const error = await runOn(databaseUrl, { ...doing(() => 1), lingerSeconds: 60 }).catch((error) => error);
      expect(error).toBeInstanceOf(RunFailedError);
      expect(error).toMatchObject({ code: 'run_failed', summary: { reason: 'failed' }, cause: { code: '42P01' } });
    } finally {
      await db.query('ALTER TABLE hidden.claim_marks SET SCHEMA millrace');
    }
  });

  test('a wrong password ends it at once', async ({ databaseUrl }) => {
    // What a pooler says of it, whatever it is.
    const code = inject('poolerUrl') === undefined ? '28P01' : '08P01';
    const url = new URL(databaseUrl);
    url.password = 'wrong';
    await expect(runOn(url.href, { ...doing(() => 1), lingerSeconds: 60 })).rejects.toMatchObject({
      cause: { code },
    });
  });

  test('a database that cannot be reached: it tries, without haste, to its deadline', async () => {
    const events = recorder();
    const running = runOn('postgres://nobody@127.0.0.1:1/none', {
      ...doing(() => 1),
      lingerSeconds: 60,
      remainingMs: remaining(12_000),
      emit: events.emit,
    });
    await expect(running).rejects.toMatchObject({ code: 'run_failed', cause: { code: 'ECONNREFUSED' } });
    const tries = events.named('database.failed').length;
    expect(tries).toBeGreaterThanOrEqual(3);
    expect(tries).toBeLessThan(40);
  });

  // A pooler keeps what runs before it have opened.
  test.skipIf(inject('poolerUrl'))(
    'connections: no more than 1 + transactions, and none left behind',
    async ({ db, directUrl }) => {
      for (let n = 0; n < 20; n++) await pendingJob(db);
      let opened = 0;
      const connect = connectTo(directUrl);
      await runOn(directUrl, {
        ...doing((_, ctx) => ctx.transaction(() => sleep(20))),
        transactions: 3,
        connect: () => {
          opened++;
          return connect();
        },
      });
      expect(opened).toBe(4);
      await until(async () => (await db.query(OTHERS)).rowCount === 0);
    },
  );

  const OTHERS = `
    SELECT 1
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
      AND application_name = 'millrace-test'`;
});

describe('options', () => {
  test.each([
    [{ concurrency: 0 }, /concurrency/],
    [{ concurrency: 1.5 }, /concurrency/],
    [{ transactions: -1 }, /transactions/],
    [{ lingerSeconds: -1 }, /lingerSeconds/],
    [{ claimSeconds: -1 }, /claimSeconds/],
    [{ slot: { worker: 'w', slot: -1, woken: false } }, /slot\.slot/],
    [{ queues: [] }, /queues/],
    [{ queues: ['a b'] }, /"a b"/],
    [{ processors: {} as never }, /no kind in common/],
  ])('%j is refused', async (option, message) => {
    await expect(runOn('postgres://127.0.0.1:1/none', { ...doing(() => 1), ...option })).rejects.toThrow(message);
  });

  test('a listener that throws harms no job', async ({ db, databaseUrl }) => {
    await pendingJob(db);
    const error = vi.fn();
    const summary = await runOn(databaseUrl, {
      ...doing(() => 1),
      emit: () => {
        throw new Error('listener');
      },
      log: { debug() {}, info() {}, warn() {}, error },
    });
    expect(summary).toMatchObject({ completed: 1 });
    expect(error).toHaveBeenCalled();
  });
});

async function dueInSeconds(db: pg.Pool, id: string): Promise<number> {
  const { rows } = await db.query(
    'SELECT extract(epoch FROM run_at - now())::float8 AS seconds FROM millrace.live_jobs WHERE id = $1',
    [id],
  );
  return rows[0].seconds;
}
