import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob, type Processors } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import {
  aesGcm,
  cancel,
  deadJob,
  enqueue,
  PermanentError,
  pause,
  RetryAfter,
  redrive,
  Snooze,
} from '../../functions/queue/index.ts';
import { DrainLimitError, drain, enqueued, NoTransactionError } from '../../testing/index.ts';
import { pendingJob, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { contracts, rolledBack, rowsOutside } from './ground.ts';

const nothing = { 'invoice.send': () => {}, 'receipt.print': () => {} };
const job = { kind: 'invoice.send', payload: { id: 7 } } as const;

test('runs what was enqueued in the transaction, also what the jobs enqueue, and leaves nothing behind', async ({
  db,
}) => {
  const printed: number[] = [];
  await rolledBack(db, async (client) => {
    await enqueue(client, contracts, job);
    await enqueue(client, contracts, { ...job, payload: { id: 8 }, priority: 3 });
    const drained = await drain(client, {
      contracts,
      processors: {
        'invoice.send': async ({ id, lines }) => {
          await enqueue(client, contracts, { kind: 'receipt.print', payload: { invoice: id } });
          return { sent: id, lines };
        },
        'receipt.print': ({ invoice }) => printed.push(invoice),
      },
    });
    expect(drained).toMatchObject({ completed: 4, retried: 0, buried: 0, released: 0, cancelled: 0, overtaken: 0 });
    expect(drained.attempts.map(({ kind, attempt, result }) => [kind, attempt, result])).toEqual([
      ['invoice.send', 1, { sent: 8, lines: [] }],
      ['invoice.send', 1, { sent: 7, lines: [] }],
      ['receipt.print', 1, 1],
      ['receipt.print', 1, 2],
    ]);
    expect(printed).toEqual([8, 7]);
    expect((await enqueued(client)).map(({ status }) => status)).toEqual(Array(4).fill('completed'));
    expect(await rowsOutside(db)).toBe(0);
  });
  expect(await rowsOutside(db)).toBe(0);
});

test('leaves alone what was there before, and what other transactions hold', async ({ db }) => {
  const before = await pendingJob(db, { kind: 'invoice.send', payload: { id: 1 } });
  await rolledBack(db, async (client) => {
    expect(await drain(client, { contracts, processors: nothing })).toMatchObject({ completed: 0, attempts: [] });
  });
  expect(await statusOf(db, before.id)).toBe('pending');
});

test('refuses a client that has no transaction open, and a pool', async ({ db }) => {
  await enqueue(db, contracts, job);
  await expect(drain(db, { contracts, processors: nothing })).rejects.toThrow(NoTransactionError);
  expect(await rowsOutside(db)).toBe(3);
});

describe('a job that fails', () => {
  test('is left to its backoff, and its error is the one that is stored', async ({ db }) => {
    await rolledBack(db, async (client) => {
      const id = await enqueue(client, contracts, job);
      const boom = new Error('boom');
      await client.query(`SET LOCAL lock_timeout = '7s'`);
      const { attempts, ...counts } = await drain(client, { contracts, processors: failing(boom) });
      expect(counts).toMatchObject({ retried: 1, completed: 0 });
      expect(attempts).toMatchObject([{ id, attempt: 1, error: { name: 'Error', message: 'boom' }, thrown: boom }]);
      const { rows } = await client.query('SELECT status, errors FROM millrace.jobs WHERE id = $1', [id]);
      expect(rows).toEqual([{ status: 'pending', errors: [attempts[0]?.error] }]);
      expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '7s' }]);
    });
  });

  test('is run again if asked for, until it is dead', async ({ db }) => {
    await rolledBack(db, async (client) => {
      const id = await enqueue(client, contracts, job);
      const drained = await drain(client, { contracts, processors: failing(new Error('boom')), retries: true });
      expect(drained).toMatchObject({ retried: 2, buried: 1 });
      expect(drained.attempts.map(({ attempt, verdict }) => [attempt, verdict])).toEqual([
        [1, 'retried'],
        [2, 'retried'],
        [3, 'buried'],
      ]);
      expect(await enqueued(client, { id })).toMatchObject([{ status: 'dead' }]);
      await redrive(client, id);
      expect(await drain(client, { contracts, processors: nothing })).toMatchObject({ completed: 1 });
    });
  });

  test('is not run again though it is due at once', async ({ db }) => {
    await rolledBack(db, async (client) => {
      await enqueue(client, contracts, job);
      expect(await drain(client, { contracts, processors: failing(new RetryAfter(0)) })).toMatchObject({ retried: 1 });
    });
  });

  test('for good is dead at once', async ({ db }) => {
    await rolledBack(db, async (client) => {
      await enqueue(client, contracts, job);
      const drained = await drain(client, { contracts, processors: failing(new PermanentError('no')), retries: true });
      expect(drained).toMatchObject({ buried: 1, retried: 0 });
    });
  });

  test('with a payload that its contract does not read, too', async ({ db }) => {
    await rolledBack(db, async (client) => {
      await client.query(`SELECT millrace.enqueue('invoice.send', '{"id": "seven"}')`);
      const { attempts } = await drain(client, { contracts, processors: nothing });
      expect(attempts).toMatchObject([{ verdict: 'retried', error: { name: 'PayloadError' } }]);
    });
  });

  test('by a statement over the test’s own client does not end the transaction; its writes there are undone', async ({
    db,
  }) => {
    await rolledBack(db, async (client) => {
      await client.query('CREATE TABLE sent (id int PRIMARY KEY)');
      await enqueue(client, contracts, job);
      const processors = {
        ...nothing,
        'invoice.send': async ({ id }: { id: number }) => {
          await client.query('INSERT INTO sent VALUES ($1)', [id]);
          await client.query('INSERT INTO sent VALUES ($1)', [id]);
        },
      };
      const { attempts } = await drain(client, { contracts, processors });
      expect(attempts).toMatchObject([{ verdict: 'retried', thrown: { code: '23505' } }]);
      expect((await client.query('SELECT * FROM sent')).rows).toEqual([]);
    });
  });

  test('after its deadline is given up, with what its transaction wrote', async ({ db }) => {
    const slow = { 'slow.write': defineJob({ payload: z.object({}), timeoutSeconds: 0.05 }) };
    await rolledBack(db, async (client) => {
      await client.query('CREATE TABLE sent (id int PRIMARY KEY)');
      await enqueue(client, slow, { kind: 'slow.write', payload: {} });
      const { attempts } = await drain(client, {
        contracts: slow,
        processors: {
          'slow.write': (_, { signal, transaction }) =>
            transaction(async (tx) => {
              await tx.query('INSERT INTO sent VALUES (1)');
              await sleep(60_000, undefined, { signal });
            }),
        },
      });
      expect(attempts).toMatchObject([{ verdict: 'retried', error: { name: 'DeadlineError' } }]);
      expect((await client.query('SELECT * FROM sent')).rows).toEqual([]);
    });
  });
});

test('what dies is told of, sealed or not; what is around processors is around these, too', async ({ db }) => {
  const payload = z.object({ id: z.number() });
  const codec = aesGcm(() => `${'k'.repeat(43)}=`);
  const mourning = {
    open: defineJob({ payload, maxAttempts: 1, onDead: 'told' }),
    sealed: defineJob({ payload, maxAttempts: 1, onDead: 'told', codec }),
    // What it says of a sealed job is sealed, too, though it has no codec of its own.
    told: defineJob({ payload: deadJob(payload) }),
  };
  const fails = () => {
    throw new Error('no use');
  };
  const around: string[] = [];
  await rolledBack(db, async (client) => {
    for (const kind of ['open', 'sealed'] as const) await enqueue(client, mourning, { kind, payload: { id: 7 } });
    const { attempts } = await drain(client, {
      contracts: mourning,
      processors: { open: fails, sealed: fails, told: (death) => [death.kind, death.payload, death.error.message] },
      middleware: [
        (of, next) => {
          around.push(of.kind);
          return next();
        },
      ],
    });
    expect(attempts.map(({ kind, verdict, result }) => [kind, verdict, result])).toEqual([
      ['open', 'buried', undefined],
      ['sealed', 'buried', undefined],
      ['told', 'completed', ['open', { id: 7 }, 'no use']],
      ['told', 'completed', ['sealed', { id: 7 }, 'no use']],
    ]);
    expect(around).toEqual(['open', 'sealed', 'told', 'told']);
    const { rows } = await client.query(
      `SELECT j::text AS row FROM millrace.jobs j WHERE kind = 'sealed' OR payload ->> 'kind' = 'sealed'`,
    );
    expect(rows).toHaveLength(2);
    for (const { row } of rows) expect(row).not.toMatch(/no use|""id"": 7/);
  });
});

test('a job that does not stop when told to is given up, and the next one runs', async ({ db }) => {
  const deaf = { 'deaf.write': defineJob({ payload: z.object({}), timeoutSeconds: 0.05 }) };
  await rolledBack(db, async (client) => {
    await client.query('CREATE TABLE sent (id int PRIMARY KEY)');
    const id = await enqueue(client, deaf, { kind: 'deaf.write', payload: {} });
    await enqueue(client, contracts, job);
    const drained = await drain(client, {
      contracts: { ...contracts, ...deaf },
      processors: {
        ...nothing,
        'deaf.write': (_, { transaction }) =>
          transaction(async (tx) => {
            await tx.query('INSERT INTO sent VALUES (1)');
            await new Promise(() => {});
          }),
      },
    });
    expect(drained).toMatchObject({ retried: 1, completed: 1 });
    expect(drained.attempts[0]).toMatchObject({ id, error: { message: expect.stringContaining('given up') } });
    expect((await client.query('SELECT * FROM sent')).rows).toEqual([]);
  });
});

describe('a job that is due later', () => {
  test('stays, and is run in the order of time if asked for', async ({ db }) => {
    await rolledBack(db, async (client) => {
      const later = await enqueue(client, contracts, { ...job, delaySeconds: 7200, priority: 5 });
      const soon = await enqueue(client, contracts, { ...job, delaySeconds: 60 });
      const now = await enqueue(client, contracts, { ...job, priority: -5 });
      expect((await drain(client, { contracts, processors: nothing })).attempts.map(({ id }) => id)).toEqual([now]);
      const rest = await drain(client, { contracts, processors: nothing, future: true });
      expect(rest.attempts.map(({ id }) => id)).toEqual([soon, later]);
    });
  });

  test('is not one that waits for its backoff', async ({ db }) => {
    await rolledBack(db, async (client) => {
      await enqueue(client, contracts, job);
      await drain(client, { contracts, processors: failing(new Error('boom')) });
      expect(await drain(client, { contracts, processors: nothing, future: true })).toMatchObject({ completed: 0 });
      expect(await drain(client, { contracts, processors: nothing, retries: true })).toMatchObject({ completed: 1 });
    });
  });

  test('by a snooze gets its attempt back', async ({ db }) => {
    await rolledBack(db, async (client) => {
      const id = await enqueue(client, contracts, job);
      let looks = 0;
      const processors = {
        ...nothing,
        'invoice.send': () => {
          if (++looks < 3) throw new Snooze(60);
        },
      };
      const drained = await drain(client, { contracts, processors, future: true });
      expect(drained).toMatchObject({ released: 2, completed: 1 });
      expect(drained.attempts.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
      expect(drained.attempts.map(({ thrown }) => thrown instanceof Snooze)).toEqual([true, true, false]);
      expect((await client.query('SELECT errors FROM millrace.jobs WHERE id = $1', [id])).rows).toEqual([
        { errors: [] },
      ]);
    });
  });
});

describe('ctx.transaction', () => {
  const insert = (tx: Db, id: number) => tx.query('INSERT INTO sent VALUES ($1)', [id]);
  /** One job that runs in its transaction, in the test's, and what it leaves in a table of the test. */
  const transacted = (db: pg.Pool, fn: (tx: Db, invoice: number, ctx: Context) => Promise<unknown>) =>
    rolledBack(db, async (client) => {
      await client.query('CREATE TABLE sent (id int PRIMARY KEY)');
      const id = await enqueue(client, contracts, job);
      const processors: Processors<typeof contracts> = {
        ...nothing,
        'invoice.send': (payload, ctx) => ctx.transaction((tx) => fn(tx, payload.id, ctx)),
      };
      const { attempts } = await drain(client, { contracts, processors });
      expect(attempts).toMatchObject([{ id }]);
      return { attempts, sent: (await client.query('SELECT * FROM sent')).rows };
    });

  test('is a savepoint: what it wrote is there, and the job completed with it', async ({ db }) => {
    const { attempts, sent } = await transacted(db, async (tx, invoice) => {
      await insert(tx, invoice);
      return { at: new Date(0) };
    });
    expect(attempts).toMatchObject([{ verdict: 'completed', result: { at: '1970-01-01T00:00:00.000Z' } }]);
    expect(sent).toEqual([{ id: 7 }]);
    expect((await db.query(`SELECT to_regclass('public.sent') AS sent`)).rows).toEqual([{ sent: null }]);
  });

  test('that fails is undone, and the test’s transaction goes on', async ({ db }) => {
    const { attempts, sent } = await transacted(db, async (tx, invoice) => {
      await insert(tx, invoice);
      await insert(tx, invoice);
    });
    expect(attempts).toMatchObject([{ verdict: 'retried', error: { name: 'error' }, thrown: { code: '23505' } }]);
    expect(sent).toEqual([]);
  });

  test('ends neither its own nor the test’s transaction', async ({ db }) => {
    const { attempts } = await transacted(db, (tx) => tx.query('COMMIT'));
    expect(attempts).toMatchObject([{ verdict: 'retried', error: { message: expect.stringContaining('COMMIT') } }]);
    expect((await db.query(`SELECT to_regclass('public.sent') AS sent`)).rows).toEqual([{ sent: null }]);
    expect(await rowsOutside(db)).toBe(0);
  });

  test('of a job that was taken away meanwhile is undone', async ({ db }) => {
    const { attempts, sent } = await transacted(db, async (tx, invoice, ctx) => {
      await insert(tx, invoice);
      await tx.query('DELETE FROM millrace.live_jobs WHERE id = $1', [ctx.job.id]);
    });
    expect(attempts).toMatchObject([{ verdict: 'overtaken' }]);
    expect(sent).toEqual([]);
  });
});

test('a job that is to be cancelled while it runs ends so if it fails', async ({ db }) => {
  await rolledBack(db, async (client) => {
    await enqueue(client, contracts, job);
    const processors = {
      ...nothing,
      'invoice.send': async (_: unknown, ctx: { job: { id: string } }) => {
        await cancel(client, ctx.job.id);
        throw new Error('boom');
      },
    };
    expect(await drain(client, { contracts, processors })).toMatchObject({ cancelled: 1 });
  });
});

test('a job that fails beside a pending one of its unique key gives way to it', async ({ db }) => {
  await rolledBack(db, async (client) => {
    const unique = { ...job, uniqueKey: 'invoice:7' };
    const first = await enqueue(client, contracts, unique);
    let runs = 0;
    const processors = {
      ...nothing,
      'invoice.send': async () => {
        if (++runs > 1) return;
        expect(await enqueue(client, contracts, unique)).not.toBe(first);
        expect(await enqueue(client, contracts, unique)).not.toBe(first);
        throw new Error('boom');
      },
    };
    expect(await drain(client, { contracts, processors })).toMatchObject({ cancelled: 1, completed: 1 });
    expect(runs).toBe(2);
  });
});

test('paused kinds and queues, and kinds without a processor, stay pending', async ({ db }) => {
  await rolledBack(db, async (client) => {
    await enqueue(client, contracts, job);
    await enqueue(client, contracts, { kind: 'receipt.print', payload: { invoice: 7 } });
    await pause(client, 'kind', 'invoice.send');
    await pause(client, 'queue', 'printer');
    expect(await drain(client, { contracts, processors: nothing })).toMatchObject({ completed: 0 });
  });
  await rolledBack(db, async (client) => {
    await enqueue(client, contracts, job);
    await enqueue(client, contracts, { kind: 'receipt.print', payload: { invoice: 7 } });
    const drained = await drain(client, { contracts, processors: { 'receipt.print': () => {} } });
    expect(drained.attempts.map(({ kind }) => kind)).toEqual(['receipt.print']);
  });
});

test('has an end though a job enqueues itself', async ({ db }) => {
  await rolledBack(db, async (client) => {
    const again = () => enqueue(client, contracts, job);
    await again();
    const processors = { ...nothing, 'invoice.send': again };
    await expect(drain(client, { contracts, processors, limit: 20 })).rejects.toThrow(DrainLimitError);
    expect(await enqueued(client, { status: 'completed' })).toHaveLength(20);
  });
});

test('keeps what each attempt said', async ({ db }) => {
  await rolledBack(db, async (client) => {
    const id = await enqueue(client, contracts, job);
    const { attempts } = await drain(client, {
      contracts,
      processors: {
        ...nothing,
        'invoice.send': (payload, { log, progress }) => {
          progress(0.25);
          progress(0.5, 'half');
          log.info('sent', { invoice: payload.id });
        },
      },
    });
    expect(attempts).toMatchObject([
      {
        progress: [
          { fraction: 0.25, note: null },
          { fraction: 0.5, note: 'half' },
        ],
        log: [{ level: 'info', message: 'sent', fields: { job_id: id, kind: 'invoice.send', attempt: 1, invoice: 7 } }],
      },
    ]);
  });
});

function failing(error: Error) {
  return {
    ...nothing,
    'invoice.send': () => {
      throw error;
    },
  };
}
