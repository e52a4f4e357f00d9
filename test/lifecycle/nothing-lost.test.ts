import { setTimeout as sleep } from 'node:timers/promises';
import { reap } from '../../functions/queue/reap.ts';
import { expect, test } from '../support/fixtures.ts';
import { until } from './ground.ts';
import { deed, startWorker, timePasses, type WorkerProcess } from './process.ts';
import { startProxy } from './proxy.ts';

const JOBS = 200;
const KILLS = 4;

test('workers die and connections break all the time: each job completes, each effect happens once', async ({
  db,
  databaseUrl,
}) => {
  await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid)');
  await db.query('TRUNCATE public.effects');
  await Promise.all(Array.from({ length: JOBS }, () => deed(db, { do: 'effect', ms: 10 }, { maxAttempts: 1_000 })));
  const proxy = await startProxy(databaseUrl);
  const workers: WorkerProcess[] = [];
  const start = () => workers.push(startWorker({ databaseUrl: proxy.url, lingerSeconds: 60 }));
  const left = async () => (await db.query('SELECT FROM millrace.live_jobs')).rowCount as number;
  try {
    start();
    for (let kills = 0; kills < KILLS; kills++) {
      start();
      const [victim] = workers;
      await victim?.said('job.claimed', 5);
      proxy.cut();
      await sleep(30);
      workers.shift()?.child.kill('SIGKILL');
    }
    await until(async () => {
      await sleep(500);
      await timePasses(db, () => reap(db, { limit: 1_000 }));
      return (await left()) === 0;
    });
  } finally {
    for (const { child } of workers) child.kill('SIGTERM');
    await Promise.all(workers.map(({ ended }) => ended));
    await proxy.close();
  }
  const effects = await db.query('SELECT count(*)::int AS n, count(DISTINCT job)::int AS jobs FROM public.effects');
  expect(effects.rows).toEqual([{ n: JOBS, jobs: JOBS }]);
  const jobs = await db.query('SELECT status, count(*)::int AS n FROM millrace.jobs GROUP BY status');
  expect(jobs.rows).toEqual([{ status: 'completed', n: JOBS }]);
});
