import { makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { count } from '../systems/count.ts';
import { node, startFleet } from '../systems/fleet.ts';
import type { Producer, System } from '../systems/system.ts';
import type { Settings } from './graphile-worker-process.ts';
import { versionOf } from './version.ts';

export const TASK = 'bench';

/** The 4 hours: its src/sql/resetLockedAt.ts. */
const LESS =
  'deletes a finished job: no status, result or history; no lease (a job whose worker has died waits for 4 hours), no fence, no time limit';

/** https://worker.graphile.org/docs/performance, "Quick stats" */
export const best = system(
  'graphile-worker, best',
  'concurrentJobs 24, maxPoolSize 25, localQueue.size 500, completeJobBatchDelay 0, failJobBatchDelay 0 (docs/performance)',
  {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
);

export const defaults = system('graphile-worker, defaults', 'concurrentJobs 1, maxPoolSize 10, no batches', {});

function system(name: string, settings: string, worker: Settings): System {
  return {
    name,
    version: versionOf('graphile-worker'),
    settings,
    less: LESS,
    storage: 'graphile-worker',
    install: async (connectionString) => {
      const utils = await makeWorkerUtils({ connectionString });
      await utils.migrate();
      await utils.release();
    },
    producer,
    workers: (databaseUrl, processes, work) =>
      startFleet(node(new URL('./graphile-worker-process.ts', import.meta.url)), processes, {
        databaseUrl,
        work,
        settings: worker,
      }),
    unsettled: (databaseUrl) => count(databaseUrl, 'graphile_worker._private_jobs'),
    atOnce: (concurrentJobs) =>
      system(name, `${settings}, but concurrentJobs ${concurrentJobs}`, { ...worker, concurrentJobs }),
  };
}

async function producer(connectionString: string, connections: number): Promise<Producer> {
  const pool = new pg.Pool({ connectionString, max: connections });
  // The server may end before the last of them has closed, and says so to each.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const utils = await makeWorkerUtils({ pgPool: pool });
  return {
    enqueue: async (payload) => {
      await utils.addJob(TASK, payload);
    },
    enqueueMany: async (payloads) => {
      await utils.addJobs(payloads.map((payload) => ({ identifier: TASK, payload })));
    },
    close: async () => {
      await utils.release();
      await pool.end();
    },
  };
}
