import type pg from 'pg';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Connection } from '../../functions/queue/steady-connection.ts';
import { CLAIM_MAX_ROWS } from '../../functions/queue/supply.ts';
import { closeGate } from '../lifecycle/gate.ts';
import { connectTo, recorder, remaining, runOn, until } from '../lifecycle/ground.ts';
import { pendingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const kind = 'test.kind';
/** More than a batch has to have to go over a connection of its own. */
const MANY = 150;

describe('settling goes on beside claiming', () => {
  test('jobs are claimed and started while a settlement is on the way', async ({ own }) => {
    const { pool: db, url: databaseUrl } = own;
    const [go, events] = [Promise.withResolvers<void>(), recorder()];
    await manyJobs(db, MANY);
    const running = runOn(databaseUrl, { ...doing(() => go.promise), concurrency: 400, emit: events.emit });
    await until(() => events.named('job.claimed').length === MANY);
    const gate = await closeGate(db, 'AFTER DELETE ON millrace.live_jobs');
    go.resolve();
    await gate.reached();
    await manyJobs(db, 1);
    await until(() => events.named('job.claimed').length === MANY + 1);
    expect(await finished(db)).toBe(0);
    await gate.open();
    expect(await running).toMatchObject({ completed: MANY + 1, overtaken: 0, unsettled: 0 });
  });

  test('jobs are settled while a claim is on the way', async ({ own }) => {
    const { pool: db, url: databaseUrl } = own;
    const [go, events] = [Promise.withResolvers<void>(), recorder()];
    await manyJobs(db, MANY);
    const running = runOn(databaseUrl, { ...doing(() => go.promise), concurrency: 400, emit: events.emit });
    await until(() => events.named('job.claimed').length === MANY);
    const gate = await closeGate(db, 'AFTER UPDATE ON millrace.live_jobs');
    await manyJobs(db, 1);
    await gate.reached();
    go.resolve();
    await until(async () => (await finished(db)) === MANY);
    expect(events.named('job.claimed')).toHaveLength(MANY);
    await gate.open();
    expect(await running).toMatchObject({ completed: MANY + 1 });
  });

  test('a run that is to end waits for the settlement on the way', async ({ own }) => {
    const { pool: db, url: databaseUrl } = own;
    const [go, events, stop] = [Promise.withResolvers<void>(), recorder(), new AbortController()];
    await manyJobs(db, MANY);
    const running = runOn(databaseUrl, {
      ...doing(() => go.promise),
      concurrency: MANY,
      signal: stop.signal,
      emit: events.emit,
    });
    await until(() => events.named('job.claimed').length === MANY);
    const gate = await closeGate(db, 'AFTER DELETE ON millrace.live_jobs');
    go.resolve();
    await gate.reached();
    stop.abort();
    await until(() => events.named('run.last_claimed').length === 1);
    await gate.open();
    expect(await running).toMatchObject({ completed: MANY, released: 0, unsettled: 0, reason: 'drained' });
  });

  test('what is about to be free is claimed for at once, and not a few slots before it', async ({
    db,
    databaseUrl,
  }) => {
    const [events, connections] = [recorder(), held(databaseUrl, 2)];
    const go = Promise.withResolvers<void>();
    await manyJobs(db, MANY);
    await manyJobs(db, 10, { commit: true });
    await manyJobs(db, 40);
    const running = runOn(databaseUrl, {
      ...doing(async ({ commit }, ctx) => {
        await go.promise;
        if (!commit) return;
        await connections.reached;
        await ctx.transaction(async () => {});
      }),
      concurrency: MANY + 10,
      connect: connections.connect,
      emit: events.emit,
    });
    await until(() => events.named('job.claimed').length === MANY + 10);
    go.resolve();
    // Their completion is committed, and ten slots are free.
    await until(() => events.named('job.completed').length === 10);
    connections.release();
    expect(await running).toMatchObject({ completed: MANY + 50 });
    const [first, next] = events.named('claim.made').filter(({ claimed }) => claimed > 0);
    expect([first, next]).toMatchObject([{ claimed: MANY + 10 }, { wanted: MANY + 10, claimed: 40 }]);
  });
});

test('with room for another full claim, that is on the way while the jobs of the last one run', async ({
  db,
  databaseUrl,
}) => {
  await manyJobs(db, 4 * CLAIM_MAX_ROWS);
  let ended = 0;
  const endedAtClaim: number[] = [];
  const connect = async () => {
    const connection = await connectTo(databaseUrl)();
    return withQuery(connection, (query, text) => {
      if (text.includes('FROM millrace.claim(')) endedAtClaim.push(ended);
      return query();
    });
  };
  const running = runOn(databaseUrl, {
    ...doing(async () => {
      // Some steps that wait for nothing, as most code has.
      for (let step = 0; step < 50; step++) await null;
      ended++;
    }),
    concurrency: 3 * CLAIM_MAX_ROWS,
    connect,
  });
  expect(await running).toMatchObject({ completed: 4 * CLAIM_MAX_ROWS });
  // Behind the first one, what it has seen is published.
  const [, second, third] = endedAtClaim;
  expect(third).toBe(second);
});

describe('connections', () => {
  test.for([
    ['a few jobs at a time: its own', 20, 2, 1],
    ['large batches: one more, of those for transactions', 900, 2, 2],
    ['large batches where it has no more: its own', 900, 0, 1],
  ] as const)('%s', async ([, jobs, transactions, connections], { db, databaseUrl }) => {
    await manyJobs(db, jobs);
    let opened = 0;
    const connect = () => {
      opened++;
      return connectTo(databaseUrl)();
    };
    const summary = await runOn(databaseUrl, { ...doing(() => 1), concurrency: 400, transactions, connect });
    expect(summary).toMatchObject({ completed: jobs });
    expect(opened).toBe(connections);
  });

  test('while jobs have them all for their transactions, it settles over its own', async ({ db, databaseUrl }) => {
    const [go, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await manyJobs(db, 1, { commit: true });
    await manyJobs(db, MANY);
    const running = runOn(databaseUrl, {
      ...doing(async ({ commit }, ctx) => {
        if (!commit) return opened.promise;
        await ctx.transaction(async () => {
          opened.resolve();
          await go.promise;
        });
      }),
      concurrency: 400,
      transactions: 1,
    });
    await until(async () => (await finished(db)) === MANY);
    go.resolve();
    expect(await running).toMatchObject({ completed: MANY + 1 });
  });

  test('a job that wants one for its transaction waits for a batch, and has it next', async ({ db, databaseUrl }) => {
    const [events, connections] = [recorder(), held(databaseUrl, 2)];
    await manyJobs(db, 1, { commit: true });
    await manyJobs(db, 3 * MANY);
    let began = 0;
    const running = runOn(databaseUrl, {
      ...doing(async ({ commit }, ctx) => {
        if (!commit) return;
        await connections.reached;
        await ctx.transaction(async () => {
          began = events.named('job.completed').length;
        });
      }),
      concurrency: MANY,
      transactions: 1,
      connect: connections.connect,
      emit: events.emit,
    });
    await connections.reached;
    connections.release();
    expect(await running).toMatchObject({ completed: 3 * MANY + 1 });
    expect(began).toBeLessThanOrEqual(MANY);
  });
});

describe('when the database fails', () => {
  test('a connection that is one too many: told once, and its own does', async ({ db, databaseUrl }) => {
    await manyJobs(db, 900);
    const events = recorder();
    let asked = 0;
    const connect = async () => {
      if (++asked > 1) throw Object.assign(new Error('sorry, too many clients already'), { code: '53300' });
      return connectTo(databaseUrl)();
    };
    const summary = await runOn(databaseUrl, { ...doing(() => 1), concurrency: 300, connect, emit: events.emit });
    expect(summary).toMatchObject({ completed: 900, overtaken: 0, unsettled: 0 });
    expect(events.named('database.failed')).toMatchObject([{ during: 'settle', code: '53300' }]);
    expect(asked).toBe(2);
  });

  test('an answer that is lost: told, and the settlement repeated with what it says', async ({ db, databaseUrl }) => {
    await manyJobs(db, MANY);
    const events = recorder();
    let opened = 0;
    const connect = async () => {
      const connection = await connectTo(databaseUrl)();
      if (++opened !== 2) return connection;
      return withQuery(connection, async (query) => {
        await query();
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      });
    };
    const summary = await runOn(databaseUrl, { ...doing(() => 1), concurrency: MANY, connect, emit: events.emit });
    expect(summary).toMatchObject({ completed: MANY, overtaken: 0, unsettled: 0 });
    expect(events.named('database.failed')).toMatchObject([{ during: 'settle', code: 'ECONNRESET' }]);
    expect(events.named('job.completed')).toHaveLength(MANY);
  });

  test('nothing is claimed while nothing can be settled, and all goes on when it can', async ({ own }) => {
    const { pool: db, url: databaseUrl } = own;
    const [go, events] = [Promise.withResolvers<void>(), recorder()];
    await manyJobs(db, 3);
    const running = runOn(databaseUrl, { ...doing(() => go.promise), lingerSeconds: 1, emit: events.emit });
    await until(() => events.named('job.claimed').length === 3);
    await db.query('ALTER TABLE millrace.finished_jobs RENAME TO hidden');
    go.resolve();
    await until(() => events.named('database.failed').length >= 1);
    await manyJobs(db, 1);
    await until(() => events.named('database.failed').length >= 4);
    expect(events.named('job.claimed')).toHaveLength(3);
    await db.query('ALTER TABLE millrace.hidden RENAME TO finished_jobs');
    expect(await running).toMatchObject({ completed: 4, unsettled: 0 });
    for (const { during } of events.named('database.failed')) expect(during).toBe('settle');
  });

  test('what could not be settled by the end is told, with why', async ({ own }) => {
    const { pool: db, url: databaseUrl } = own;
    await manyJobs(db, 3);
    // A job that fits ends before, unless the clock jumps: a laptop that slept.
    let deadline = remaining(60_000);
    await db.query('ALTER TABLE millrace.finished_jobs RENAME TO hidden');
    const running = runOn(databaseUrl, {
      ...doing(() => {
        deadline = remaining(1_500);
      }),
      remainingMs: () => deadline(),
    });
    await expect(running).rejects.toMatchObject({
      code: 'run_failed',
      cause: { code: '42P01' },
      summary: { claimed: 3, completed: 0, unsettled: 3 },
    });
    const { rows } = await db.query('SELECT DISTINCT status, attempts FROM millrace.live_jobs');
    expect(rows).toEqual([{ status: 'processing', attempts: 1 }]);
  });
});

function doing(processor: (payload: { commit?: boolean | undefined }, ctx: Context) => unknown) {
  return {
    contracts: {
      [kind]: defineJob({ payload: z.object({ commit: z.boolean().optional() }), timeoutSeconds: 20 }),
    },
    processors: { [kind]: processor },
  };
}

async function manyJobs(db: pg.Pool, n: number, payload: object = {}): Promise<void> {
  await db.query('SELECT millrace.enqueue($2, $3) FROM generate_series(1, $1::int)', [n, kind, payload]);
}

async function finished(db: pg.Pool): Promise<number> {
  return (await db.query('SELECT FROM millrace.finished_jobs')).rowCount as number;
}

/** Statements over one of the connections of a run, by the order of their opening, wait until they are released. */
function held(databaseUrl: string, which: number) {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let opened = 0;
  const connect = async () => {
    const connection = await connectTo(databaseUrl)();
    if (++opened !== which) return connection;
    return withQuery(connection, async (query) => {
      asked.resolve();
      await released.promise;
      return query();
    });
  };
  return { connect, reached: asked.promise, release: released.resolve };
}

function withQuery(
  connection: Connection,
  around: (query: () => Promise<unknown>, text: string) => Promise<unknown>,
): Connection {
  const query = connection.query.bind(connection);
  connection.query = ((text: string, values?: unknown[]) => around(() => query(text, values), text)) as never;
  return connection;
}

test('a run does not end before what it has put in for a job that died', async ({ db, databaseUrl }) => {
  const contracts = {
    dies: defineJob({ payload: z.unknown(), maxAttempts: 1, onDead: 'told' }),
    told: defineJob({ payload: z.unknown() }),
  };
  await pendingJob(db, { kind: 'dies', maxAttempts: 1 });
  let foundNothing = () => {};
  const nothing = new Promise<void>((resolve) => {
    foundNothing = resolve;
  });
  const { completed, buried } = await runOn(databaseUrl, {
    contracts,
    processors: {
      // As long as it takes until a claim has found nothing more.
      dies: () => nothing.then(() => Promise.reject(new Error('boom'))),
      told: () => {},
    },
    emit: (event) => {
      if (event.name === 'claim.made' && event.claimed === 0) foundNothing();
    },
  });
  expect({ completed, buried }).toEqual({ completed: 1, buried: 1 });
});
