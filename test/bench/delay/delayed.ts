import type { System } from '../systems/system.ts';
import { startDelayingProxy } from './proxy.ts';

/** The same system, its workers and producers so far away from the database. */
export function delayed(system: System, roundTripMs: number): System {
  return {
    ...system,
    producer: async (databaseUrl, connections) => {
      const proxy = await startDelayingProxy(databaseUrl, roundTripMs);
      const producer = await system.producer(proxy.url, connections);
      return { ...producer, close: () => producer.close().finally(proxy.close) };
    },
    workers: async (databaseUrl, processes, work) => {
      const proxy = await startDelayingProxy(databaseUrl, roundTripMs);
      const workers = await system.workers(proxy.url, processes, work);
      return { ...workers, stop: () => workers.stop().finally(proxy.close) };
    },
    atOnce: (jobs) => delayed(system.atOnce(jobs), roundTripMs),
  };
}
