import { type ConstructorOptions, PgBoss, type QueueOptions, type WorkOptions } from 'pg-boss';
import { count } from '../systems/count.ts';
import { node, startFleet } from '../systems/fleet.ts';
import type { Producer, System } from '../systems/system.ts';
import { versionOf } from './version.ts';

export const QUEUE = 'bench';
/** Each fetches a batch, runs it and completes it. */
const LOOPS = 4;

const LESS = 'keeps a finished job among those that wait, with one result for all of a batch';

export interface Settings {
  readonly boss: Pick<ConstructorOptions, 'useListenNotify' | 'max'>;
  readonly queue: QueueOptions & { readonly notify?: boolean };
  readonly work: WorkOptions;
}

export const best = system(
  'pg-boss, best',
  'work() with batchSize 500, localConcurrency 4, burstWhenBatchFull, pollingIntervalSeconds 0.5; 10 connections; the queue with notify',
  {
    boss: { useListenNotify: true, max: 10 },
    queue: { notify: true },
    work: { batchSize: 500, localConcurrency: LOOPS, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
  },
);

export const defaults = system('pg-boss, defaults', 'work() takes 1 job each 2 s', { boss: {}, queue: {}, work: {} });

function system(name: string, settings: string, values: Settings): System {
  return {
    name,
    version: versionOf('pg-boss'),
    settings,
    less: LESS,
    storage: `pg-boss ${JSON.stringify(values.queue)}`,
    install: async (connectionString) => {
      const boss = quiet({ connectionString });
      await boss.start();
      // A failed job may come back at once.
      await boss.createQueue(QUEUE, { retryDelay: 0, ...values.queue });
      await boss.stop({ graceful: false });
    },
    producer,
    workers: (databaseUrl, processes, work) =>
      startFleet(node(new URL('./pg-boss-process.ts', import.meta.url)), processes, {
        databaseUrl,
        work,
        settings: values,
      }),
    unsettled: (databaseUrl) => count(databaseUrl, 'pgboss.job', `name = '${QUEUE}' AND state <> 'completed'`),
    atOnce: (jobs) => {
      const batchSize = Math.ceil(jobs / LOOPS);
      return system(name, `${settings}, but batchSize ${batchSize}`, {
        ...values,
        work: { ...values.work, batchSize },
      });
    },
  };
}

/** Without what it does beside the jobs: schedules, maintenance, statistics. */
export function quiet(options: ConstructorOptions): PgBoss {
  const boss = new PgBoss({ supervise: false, schedule: false, ...options });
  boss.on('error', (error) => console.error(error));
  return boss;
}

async function producer(connectionString: string, connections: number): Promise<Producer> {
  const boss = quiet({ connectionString, max: connections });
  await boss.start();
  return {
    enqueue: async (payload) => {
      await boss.send(QUEUE, payload);
    },
    enqueueMany: async (payloads) => {
      await boss.insert(
        QUEUE,
        payloads.map((data) => ({ data })),
      );
    },
    close: async () => {
      await boss.stop({ graceful: false });
    },
  };
}
