import { enqueue } from '../../functions/queue/enqueue-typed.ts';
import { runOn } from '../lifecycle/ground.ts';
import { inDatabase } from '../support/database.ts';
import { pendingJob, statusOf } from '../support/factories.ts';
import { expect, inject, openClient } from '../support/fixtures.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { contracts, databaseOf, kind, test } from './ground.ts';

test('transactions of one connection go to several of the server: what one leaves behind, the next does not find', async ({
  databaseUrl,
}) => {
  const client = await openClient(databaseUrl);
  const pids = new Set<number>();
  for (let n = 0; n < 4; n++) {
    pids.add((await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid);
  }
  expect(pids.size).toBeGreaterThan(1);
  await client.end();
});

test('two connections of the server are enough for a run that has five, each with a transaction', async ({ own }) => {
  const pooler = await startPgbouncer(inject('serverUrl'), { default_pool_size: '2' });
  await own.pool.query('CREATE TABLE public.effects (job uuid)');
  for (let n = 0; n < 30; n++) await pendingJob(own.pool);
  const most = { backends: 0 };
  const summary = await runOn(inDatabase(pooler.url, databaseOf(own.directUrl)), {
    contracts,
    processors: {
      [kind]: (_, { job, transaction }) =>
        transaction(async (tx) => {
          await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [job.id]);
          const { rows } = await tx.query<{ n: number }>(
            `SELECT count(*)::int AS n FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'millrace-test' AND state <> 'idle'`,
          );
          most.backends = Math.max(most.backends, rows[0]?.n ?? 0);
        }),
    },
    concurrency: 10,
    transactions: 4,
  });
  await pooler.stop();
  expect(summary).toMatchObject({ completed: 30, retried: 0, reason: 'emptied' });
  expect(most.backends).toBeLessThanOrEqual(2);
  expect((await own.pool.query('SELECT FROM public.effects')).rowCount).toBe(30);
});

test('an enqueue in the transaction of a caller who goes through it too: all or nothing', async ({
  db,
  databaseUrl,
}) => {
  const client = await openClient(databaseUrl);
  const put = () => enqueue(client, contracts, { kind, payload: {} });
  await client.query('BEGIN');
  const undone = await put();
  await client.query('ROLLBACK');
  await client.query('BEGIN');
  const kept = await put();
  await client.query('COMMIT');
  expect([await statusOf(db, undone), await statusOf(db, kept)]).toEqual([undefined, 'pending']);
  await client.end();
});
