import type { System } from '../systems/system.ts';
import * as graphileWorker from './graphile-worker.ts';
import * as pgBoss from './pg-boss.ts';
import { river } from './river.ts';

/** Those that this machine can run, and why others are left out. */
export async function peers(): Promise<{ readonly systems: readonly System[]; readonly leftOut: readonly string[] }> {
  const inNode = [graphileWorker.best, graphileWorker.defaults, pgBoss.best, pgBoss.defaults];
  const go = await river();
  return typeof go === 'string' ? { systems: inNode, leftOut: [go] } : { systems: [...inNode, ...go], leftOut: [] };
}
