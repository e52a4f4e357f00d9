import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { reap } from '../../functions/queue/reap.ts';
import { recorder, runOn, until } from '../lifecycle/ground.ts';
import { expireLease, pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';

const kind = 'test.kind';
const doing = (processor: (payload: Record<string, unknown>, ctx: Context) => unknown, timeoutSeconds = 20) => ({
  contracts: { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds }) },
  processors: { [kind]: processor },
});

const EFFECT = 'INSERT INTO public.effects (job) VALUES ($1)';

async function effects(db: pg.Pool): Promise<number> {
  return (await db.query('SELECT 1 FROM public.effects')).rowCount as number;
}

test.beforeEach(async ({ db }) => {
  await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
  await db.query('TRUNCATE public.effects');
});

test('the writes of the processor and the completion commit together', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const events = recorder();
  const summary = await runOn(databaseUrl, {
    ...doing((_, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query(EFFECT, [ctx.job.id]);
        expect(await effects(db)).toBe(0);
        return { ok: true };
      }),
    ),
    emit: events.emit,
  });
  expect(summary).toMatchObject({ completed: 1, unsettled: 0 });
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', result: { ok: true } });
  expect(await effects(db)).toBe(1);
  expect(events.named('job.completed')).toHaveLength(1);
});

test('an error in it rolls everything back, and the attempt has failed', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const summary = await runOn(
    databaseUrl,
    doing((_, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query(EFFECT, [ctx.job.id]);
        throw new Error('boom');
      }),
    ),
  );
  expect(summary).toMatchObject({ retried: 1 });
  expect(await effects(db)).toBe(0);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', errors: [{ message: 'boom' }] });
});

test('an error that only the commit finds rolls everything back too', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  await db.query(EFFECT, [job.id]);
  expect(
    await runOn(
      databaseUrl,
      doing((_, ctx) => ctx.transaction((tx) => tx.query(EFFECT, [ctx.job.id]).then(() => 1))),
    ),
  ).toMatchObject({ retried: 1 });
  expect(await rowOf(db, job.id)).toMatchObject({
    status: 'pending',
    errors: [{ message: expect.stringContaining('duplicate key') }],
  });
});

test('a claim that was lost meanwhile rolls everything back', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const summary = await runOn(
    databaseUrl,
    doing((_, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query(EFFECT, [ctx.job.id]);
        await expireLease(db, job.id);
        await reap(db, { limit: 10 });
        return 'late';
      }),
    ),
  );
  expect(summary).toMatchObject({ claimed: 1, overtaken: 1 });
  expect(await effects(db)).toBe(0);
  expect(await statusOf(db, job.id)).toBe('pending');
});

test('a second call throws', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  let second: unknown;
  await runOn(
    databaseUrl,
    doing(async (_, ctx) => {
      await ctx.transaction(async () => 1);
      second = await ctx.transaction(async () => 2).catch((error) => error.name);
    }),
  );
  expect(second).toBe('TransactionUsedError');
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', result: 1 });
});

test('one that the processor forgot to await decides all the same', async ({ db, databaseUrl }) => {
  const [good, bad] = [await pendingJob(db, { payload: { good: true } }), await pendingJob(db)];
  await runOn(
    databaseUrl,
    doing(({ good }, ctx) => {
      void ctx.transaction(async (tx) => {
        await tx.query(EFFECT, [ctx.job.id]);
        await sleep(20);
        if (!good) throw new Error('boom');
      });
    }),
  );
  expect(await statusOf(db, good.id)).toBe('completed');
  expect(await rowOf(db, bad.id)).toMatchObject({ status: 'pending', errors: [{ message: 'boom' }] });
  expect(await effects(db)).toBe(1);
});

test('one that begins after the processor has ended is refused: the job is completed without it', async ({
  db,
  databaseUrl,
}) => {
  const job = await pendingJob(db);
  const late = Promise.withResolvers<unknown>();
  await runOn(databaseUrl, {
    ...doing((_, ctx) => {
      const begin = async () => {
        await until(async () => (await statusOf(db, job.id)) === 'completed');
        await ctx.transaction((tx) => tx.query(EFFECT, [ctx.job.id]));
      };
      late.resolve(begin().catch((error) => error));
    }),
    lingerSeconds: 1,
  });
  expect(await late.promise).toMatchObject({ name: 'TransactionUsedError' });
  expect(await effects(db)).toBe(0);
});

test('what the processor throws after the commit changes nothing', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  await runOn(
    databaseUrl,
    doing(async (_, ctx) => {
      await ctx.transaction(async () => 'done');
      throw new Error('afterwards');
    }),
  );
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', result: 'done', errors: [] });
});

test('its result may be of 256 KiB', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const result = 'x'.repeat(262_142);
  await runOn(
    databaseUrl,
    doing((_, ctx) => ctx.transaction(async () => result)),
  );
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', result });
});

test('a result that jsonb cannot hold rolls everything back, for good', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  await runOn(
    databaseUrl,
    doing((_, ctx) => ctx.transaction((tx) => tx.query(EFFECT, [ctx.job.id]).then(() => 'a\0b'))),
  );
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'dead', errors: [{ name: 'UnstorableError' }] });
  expect(await effects(db)).toBe(0);
});

test('it begins and ends by itself: doing so inside is refused, savepoints are not', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const refused = [
    'COMMIT',
    ' rollback ',
    'begin',
    'END;',
    'ABORT',
    'START  TRANSACTION',
    "prepare transaction 'x'",
    'ROLLBACK WORK',
    '-- done\nCOMMIT',
    '/* all /* of it */ */ rollback',
    ';;COMMIT AND CHAIN',
    "SELECT ';'; COMMIT",
    { text: 'COMMIT' } as unknown as string,
  ];
  await runOn(
    databaseUrl,
    doing((_, ctx) =>
      ctx.transaction(async (tx) => {
        for (const statement of refused)
          await expect(tx.query(statement)).rejects.toThrow('ends its transaction itself');
        await tx.query('SAVEPOINT here');
        await tx.query(EFFECT, [ctx.job.id]);
        await tx.query('-- back\nROLLBACK TO SAVEPOINT here');
        await tx.query(`DO $do$ BEGIN PERFORM 1; END $do$; SELECT '; COMMIT', 1 AS "; END" -- ; COMMIT`);
        await tx.query(EFFECT, [randomUUID()]);
        await tx.query('ROLLBACK WORK TO here');
        await tx.query(EFFECT, [ctx.job.id]);
      }),
    ),
  );
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', errors: [] });
  expect(await effects(db)).toBe(1);
});

test('a query that comes after the transaction is refused', async ({ db, databaseUrl }) => {
  await pendingJob(db);
  let late: unknown;
  await runOn(
    databaseUrl,
    doing(async (_, ctx) => {
      let kept: Db | undefined;
      await ctx.transaction(async (tx) => {
        kept = tx;
      });
      late = await kept?.query(EFFECT, [ctx.job.id]).catch((error) => error.message);
    }),
  );
  expect(late).toContain('the transaction is over');
  expect(await effects(db)).toBe(0);
});

test('given up, it is rolled back and its connection is free for others', async ({ db, databaseUrl }) => {
  const stuck = await pendingJob(db, { payload: { stuck: true }, priority: 5 });
  const next = await pendingJob(db);
  let wentOn: unknown;
  const running = runOn(databaseUrl, {
    ...doing(async ({ stuck }, ctx) => {
      await ctx
        .transaction(async (tx) => {
          await tx.query(EFFECT, [ctx.job.id]);
          if (stuck) {
            await sleep(3_000);
            // Deaf to its signal, it comes back when its connection is somebody else's matter.
            wentOn = await tx.query(EFFECT, [randomUUID()]).catch((error) => error.message);
          }
        })
        .catch(() => sleep(5_000));
    }, 0.5),
    concurrency: 1,
    transactions: 1,
    // Given up after 2.5 s and due again a second later at the earliest: not within this run.
    lingerSeconds: Infinity,
    claimSeconds: 3.4,
  });
  expect(await running).toMatchObject({ claimed: 2, completed: 1, retried: 1 });
  expect(wentOn).toContain('the transaction is over');
  expect(await statusOf(db, next.id)).toBe('completed');
  expect(await rowOf(db, stuck.id)).toMatchObject({ status: 'pending', errors: [{ name: 'DeadlineError' }] });
  expect(await effects(db)).toBe(1);
});

test('waiting for a connection counts against the deadline', async ({ db, databaseUrl }) => {
  const jobs = [await pendingJob(db), await pendingJob(db)];
  const summary = await runOn(databaseUrl, {
    ...doing((_, ctx) => ctx.transaction(() => sleep(1_500)), 1),
    transactions: 1,
  });
  expect(summary).toMatchObject({ completed: 1, retried: 1 });
  const rows = await Promise.all(jobs.map(({ id }) => rowOf(db, id)));
  expect(rows.flatMap((row) => row?.errors)).toMatchObject([{ name: 'DeadlineError' }]);
});

test('more transactions than connections take turns', async ({ db, databaseUrl }) => {
  for (let n = 0; n < 30; n++) await pendingJob(db);
  let now = 0;
  let most = 0;
  const summary = await runOn(databaseUrl, {
    ...doing((_, ctx) =>
      ctx.transaction(async (tx) => {
        most = Math.max(most, ++now);
        await tx.query(EFFECT, [ctx.job.id]);
        await sleep(10);
        now--;
      }),
    ),
    transactions: 2,
  });
  expect(summary).toMatchObject({ completed: 30 });
  expect(most).toBe(2);
  expect(await effects(db)).toBe(30);
});

test('a connection that broke while idle does not cost an attempt', async ({ db, databaseUrl }) => {
  const first = await pendingJob(db, { priority: 5 });
  const second = await pendingJob(db);
  const summary = await runOn(databaseUrl, {
    ...doing(async (_, ctx) => {
      if (ctx.job.id === second.id) {
        await db.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'millrace-test' AND query = 'COMMIT'`,
        );
      }
      return ctx.transaction(async (tx) => void (await tx.query(EFFECT, [ctx.job.id])));
    }),
    concurrency: 1,
    transactions: 1,
  });
  expect(summary).toMatchObject({ completed: 2 });
  for (const { id } of [first, second]) expect(await rowOf(db, id)).toMatchObject({ status: 'completed', attempts: 1 });
});

test('a connection that breaks in the middle fails the attempt, and nothing of it stays', async ({
  db,
  databaseUrl,
}) => {
  const job = await pendingJob(db);
  const summary = await runOn(
    databaseUrl,
    doing((_, ctx) =>
      ctx.transaction(async (tx) => {
        await tx.query(EFFECT, [ctx.job.id]);
        const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await db.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
        await until(
          async () => (await db.query('SELECT FROM pg_stat_activity WHERE pid = $1', [rows[0]?.pid])).rowCount === 0,
        );
      }),
    ),
  );
  expect(summary).toMatchObject({ retried: 1 });
  expect(await statusOf(db, job.id)).toBe('pending');
  expect(await effects(db)).toBe(0);
});
