import { recorder, runOn, until } from '../lifecycle/ground.ts';
import { pendingJob } from '../support/factories.ts';
import { expect } from '../support/fixtures.ts';
import { contracts, databaseOf, kind, test } from './ground.ts';

test('the pooler pauses: what waited in its line when it was given up is not carried out later', async ({
  own,
  pooler,
  pooledUrl,
}) => {
  const name = databaseOf(own.directUrl);
  const events = recorder();
  const over = new AbortController();
  const running = runOn(pooledUrl, {
    contracts,
    processors: { [kind]: () => 'done' },
    lingerSeconds: 60,
    statementSeconds: 0.3,
    emit: events.emit,
    signal: over.signal,
  });
  const before = await pendingJob(own.pool);
  await until(() => events.named('job.completed').length === 1);
  await pooler.command(`PAUSE ${name}`);
  const job = await pendingJob(own.pool);
  // Claims were sent into the line, and given up there, twice at least.
  await until(() => events.named('database.failed').length >= 2);
  await pooler.command(`RESUME ${name}`);
  await until(() => events.named('job.completed').length === 2);
  over.abort();
  expect(await running).toMatchObject({ claimed: 2, completed: 2, unsettled: 0 });
  const { rows } = await own.pool.query('SELECT id, status, attempts FROM millrace.jobs ORDER BY id');
  expect(rows).toEqual([before, job].map(({ id }) => ({ id, status: 'completed', attempts: 1 })));
});

test('it hangs up on everybody in the middle of transactions and claims: nothing is lost, no effect comes twice', async ({
  own,
  pooler,
  pooledUrl,
}) => {
  const name = databaseOf(own.directUrl);
  await own.pool.query('CREATE TABLE public.effects (job uuid)');
  for (let n = 0; n < 40; n++) await pendingJob(own.pool, { maxAttempts: 20 });
  const events = recorder();
  const stop = new AbortController();
  const running = runOn(pooledUrl, {
    contracts,
    processors: {
      [kind]: (_, { job, transaction }) =>
        transaction(async (tx) => {
          await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [job.id]);
          await tx.query('SELECT pg_sleep(0.02)');
        }),
    },
    concurrency: 4,
    transactions: 3,
    lingerSeconds: 60,
    emit: events.emit,
    signal: stop.signal,
  });
  for (const done of [5, 15]) {
    await until(() => events.named('job.completed').length >= done);
    await pooler.command(`KILL ${name}`);
    await pooler.command(`RESUME ${name}`);
  }
  await until(() => events.named('job.completed').length === 40);
  stop.abort();
  expect(await running).toMatchObject({ completed: 40, buried: 0, unsettled: 0 });
  expect(events.named('database.failed').length).toBeLessThan(60);
  const { rows } = await own.pool.query(
    'SELECT count(*)::int AS n, count(DISTINCT job)::int AS jobs FROM public.effects',
  );
  expect(rows).toEqual([{ n: 40, jobs: 40 }]);
});
