import type { Db } from './db.ts';

export interface Upkeep {
  /** Partitions made ahead, `millrace.payloads_20261201`. */
  readonly created: string[];
  /** Partitions that went, with the days that were in them. */
  readonly dropped: string[];
  /** Somebody holds a lock that upkeep does not wait for: nothing is wrong, the next call goes on. */
  readonly postponed: boolean;
}

const TABLES = ['finished_jobs', 'payloads'];
/** A first call after a month away takes about this many; more means that it does not come to an end. */
const MAX_STEPS = 60;

const MAINTAIN = `
SELECT created, dropped, postponed
FROM millrace.maintain_partitions(make_interval(days => $1), make_interval(days => $2), $3)`;

/**
 * Makes the partitions of the coming days and lets old ones go. Each step is a transaction of its own (pass a pool or a
 * client with none open): its lock lasts some milliseconds, and the wait for it at most 100 ms.
 *
 * @param options.keepDays finished jobs and payloads stay that long after creation, and after the end; at least 1
 * @param options.aheadDays how far ahead a partition is a single day; at least 1
 */
export async function upkeep(db: Db, options: { keepDays: number; aheadDays: number }): Promise<Upkeep> {
  const created: string[] = [];
  const dropped: string[] = [];
  let postponed = false;
  for (const table of TABLES) {
    for (let step = 0; step < MAX_STEPS; step++) {
      const { rows } = await db.query<Upkeep>(MAINTAIN, [options.keepDays, options.aheadDays, table]);
      const [done] = rows as [Upkeep];
      created.push(...done.created);
      dropped.push(...done.dropped);
      postponed ||= done.postponed;
      if (done.postponed || done.created.length + done.dropped.length === 0) break;
    }
  }
  return { created, dropped, postponed };
}
