import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { migrationsDirectory } from '../../../functions/migrate/directory.ts';
import { migrate } from '../../../functions/migrate/runner.ts';
import { defineJob } from '../../../functions/queue/contract.ts';
import { enqueue, enqueueMany } from '../../../functions/queue/enqueue-typed.ts';
import { openClient, openPool } from '../../support/database.ts';
import { count } from './count.ts';
import { node, startFleet } from './fleet.ts';
import type { Settings } from './millrace-worker.ts';
import type { Producer, System } from './system.ts';

export const KIND = 'bench.job';

/** As an application declares it. A failed job comes back as soon as the settings allow. */
export const contracts = {
  [KIND]: defineJob({
    payload: z.looseObject({ n: z.number() }),
    backoff: { baseSeconds: 1, capSeconds: 1 },
  }),
};

/** Of package.json. */
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export const millrace = system('Millrace', { concurrency: 1500 });
export const millraceDefaults = system('Millrace, defaults', { concurrency: 10 });

function system(name: string, settings: Settings): System {
  return {
    name,
    version,
    settings: `concurrency ${settings.concurrency}`,
    less: '',
    storage: 'millrace',
    install,
    producer,
    workers: (databaseUrl, processes, work) =>
      startFleet(node(new URL('./millrace-worker.ts', import.meta.url)), processes, { databaseUrl, work, settings }),
    unsettled: (databaseUrl) => count(databaseUrl, 'millrace.live_jobs'),
    atOnce: (concurrency) => system(name, { ...settings, concurrency }),
  };
}

async function install(databaseUrl: string): Promise<void> {
  const client = await openClient(databaseUrl);
  await migrate(client, { directory: migrationsDirectory() }).finally(() => client.end());
}

/** Over the TypeScript face, with a pool as an application has it. */
async function producer(databaseUrl: string, connections: number): Promise<Producer> {
  const pool = openPool(databaseUrl, connections);
  return {
    enqueue: async (payload) => {
      await enqueue(pool, contracts, { kind: KIND, payload });
    },
    enqueueMany: async (payloads) => {
      await enqueueMany(
        pool,
        contracts,
        payloads.map((payload) => ({ kind: KIND, payload })),
      );
    },
    close: () => pool.end(),
  };
}
