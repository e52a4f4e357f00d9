/*
 * How fast one worker process drains jobs that do nothing, and how much memory it takes.
 * node test/bench/worker.ts [--quick]   on DATABASE_URL (a database of its own is made there and dropped), else on a Postgres
 * of its own. --quick: a fiftieth of the jobs, to see that it runs.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { startPostgres } from '../../local/postgres.ts';
import { runOn } from '../lifecycle/ground.ts';
import { createDatabase, openClient } from '../support/database.ts';

const JOBS = process.argv.includes('--quick') ? 400 : 20_000;
const KIND = 'bench.noop';

const server = process.env.DATABASE_URL ? { url: process.env.DATABASE_URL, stop: async () => {} } : await ownServer();
const database = await createDatabase(server.url);
try {
  const client = await openClient(database.url);
  await migrate(client, { directory: migrationsDirectory() }).finally(() => client.end());
  console.log(`memory of one worker with 10 loops, idle for 2 s: ${megabytes((await drained(10, 0, 2)).rss)} MB`);
  for (const concurrency of [10, 200]) {
    const { seconds, completed, rss } = await drained(concurrency, JOBS);
    const rate = Math.round(completed / seconds).toLocaleString('en');
    console.log(`${completed} jobs, concurrency ${concurrency}: ${rate} jobs/s; memory then ${megabytes(rss)} MB`);
  }
} finally {
  await database.drop();
  await server.stop();
}

async function drained(concurrency: number, jobs: number, lingerSeconds = 0) {
  await database.pool.query(`SELECT millrace.enqueue($1, '{"n": 1}') FROM generate_series(1, $2::int)`, [KIND, jobs]);
  await database.pool.query('VACUUM (ANALYZE) millrace.live_jobs');
  const startedAt = performance.now();
  const { completed } = await runOn(database.url, {
    contracts: { [KIND]: defineJob({ payload: z.object({ n: z.number() }) }) },
    processors: { [KIND]: () => {} },
    concurrency,
    lingerSeconds,
    deadline: () => Infinity,
  });
  return { seconds: (performance.now() - startedAt) / 1000, completed, rss: process.memoryUsage().rss };
}

async function ownServer() {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const running = await startPostgres({ directory, settings: { shared_buffers: '512MB', max_wal_size: '4GB' } });
  return {
    url: running.url,
    stop: async () => {
      await running.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
