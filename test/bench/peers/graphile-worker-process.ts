/* A worker process of graphile-worker. */
import { Logger, runTaskList, type WorkerPool } from 'graphile-worker';
import pg from 'pg';
import { inside } from '../systems/inside.ts';
import type { Payload } from '../systems/system.ts';
import { TASK } from './graphile-worker.ts';

export type Settings = Pick<
  GraphileConfig.WorkerOptions,
  'concurrentJobs' | 'maxPoolSize' | 'localQueue' | 'completeJobBatchDelay' | 'failJobBatchDelay'
>;

await inside<Settings>(async ({ databaseUrl, settings, job, settled }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: settings.maxPoolSize ?? 10 });
  pool.on('connect', (client) => countCompletions(client, settled));
  // Opened before the start, as the others have theirs.
  await pool.query('SELECT 1');
  let workers: WorkerPool | undefined;
  return {
    go: () => {
      workers = runTaskList(
        { preset: { worker: { ...settings, logger: new Logger(() => () => {}) } }, noHandleSignals: true },
        { [TASK]: (payload, helpers) => job(payload as Payload, helpers.job.attempts) },
        pool,
      );
    },
    stop: async () => {
      await workers?.gracefulShutdown();
      await pool.end();
    },
  };
});

/** Its events tell of the end of a job before the database knows of it. */
function countCompletions(client: pg.PoolClient, settled: (jobs: number) => void): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  Object.assign(client, {
    query: (...args: unknown[]) => {
      const [statement] = args as [{ name?: string }];
      const answer = query(...args);
      if (statement.name?.startsWith('complete_job')) {
        (answer as Promise<pg.QueryResult>).then(
          ({ rowCount }) => settled(rowCount ?? 0),
          () => {},
        );
      }
      return answer;
    },
  });
}
