import { node, startFleet } from './fleet.ts';
import { millrace } from './millrace.ts';
import type { Settings } from './raw-sql-process.ts';
import type { System } from './system.ts';

const CONNECTIONS = 4;

/**
 * What our own storage gives at most: the same tables, indexes and counters, claimed and completed by one plain statement
 * each. Nothing is checked, watched, aged, rescanned or kept from starving, a failure is not known of, and no job has a deadline.
 */
export const rawSql: System = inBatchesOf(500);

function inBatchesOf(batch: number): System {
  return {
    ...millrace,
    name: 'raw SQL',
    version: 'on our tables',
    settings: `${CONNECTIONS} connections, batches of ${batch}, prepared statements`,
    less: 'no engine: no kinds, no marks, no retries, no deadlines, no cancels',
    workers: (databaseUrl, processes, work) => {
      const settings: Settings = { connections: Math.ceil(CONNECTIONS / processes), batch };
      const module = new URL('./raw-sql-process.ts', import.meta.url);
      return startFleet(node(module), processes, { databaseUrl, work, settings });
    },
    atOnce: (jobs) => inBatchesOf(Math.ceil(jobs / CONNECTIONS)),
  };
}
