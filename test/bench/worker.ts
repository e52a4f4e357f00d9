/*
 * How fast one worker process drains jobs that do nothing, and how much memory it takes.
 * node test/bench/worker.ts [--quick]   on DATABASE_URL (in a database of its own, dropped at the end), else on a Postgres
 * of its own. --quick: a fiftieth of the jobs, to see that it runs.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { WORK_NODE_OPTIONS } from '../../lib/functions/node-options.ts';
import { startPostgres } from '../../local/postgres.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { type Drain, type Drained, KIND } from './drain.ts';

const JOBS = process.argv.includes('--quick') ? 400 : 20_000;
const PROCESS = fileURLToPath(new URL('./drain.ts', import.meta.url));

const server = process.env.DATABASE_URL ? { url: process.env.DATABASE_URL, stop: async () => {} } : await ownServer();
const database = await createDatabase(server.url);
try {
  const client = await openClient(database.url);
  await migrate(client, { directory: migrationsDirectory() }).finally(() => client.end());
  const idle = await drain(10, 0, 2);
  console.log(`a worker with 10 loops that waits: ${megabytes(idle)} MB`);
  for (const concurrency of [10, 200]) {
    const drained = await drain(concurrency, JOBS);
    const rate = Math.round(drained.completed / drained.seconds).toLocaleString('en');
    console.log(`${drained.completed} jobs with ${concurrency} loops: ${rate} jobs/s, ${megabytes(drained)} MB`);
  }
} finally {
  await database.drop();
  await server.stop();
}

async function drain(concurrency: number, jobs: number, lingerSeconds = 0): Promise<Drained> {
  await database.pool.query(`SELECT millrace.enqueue($1, '{"n": 1}') FROM generate_series(1, $2::int)`, [KIND, jobs]);
  await database.pool.query('VACUUM (ANALYZE) millrace.live_jobs');
  const options: Drain = { databaseUrl: database.url, concurrency, lingerSeconds };
  // As the stack starts a worker.
  const child = fork(PROCESS, [JSON.stringify(options)], { execArgv: WORK_NODE_OPTIONS.split(' ') });
  const [drained] = (await once(child, 'message')) as [Drained];
  return drained;
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

function megabytes({ rssBytes }: Drained): number {
  return Math.round(rssBytes / 1_048_576);
}
