import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { prune } from '../../../functions/queue/prune.ts';
import { upkeep } from '../../../functions/queue/upkeep.ts';
import { KEEP_DAYS } from './old-days.ts';

/** A way for the old days to go. */
export interface Way {
  readonly name: string;
  /** Resolves how often somebody held a lock that it does not wait for. */
  go(client: pg.Client): Promise<number>;
}

/** As the reaper has it in each tick; it would try again a minute later. */
const byTheDay: Way = {
  name: 'by the day, as Millrace does',
  go: async (client) => {
    let postponed = 0;
    while ((await upkeep(client, { keepDays: KEEP_DAYS, aheadDays: 3 })).postponed) {
      postponed++;
      await sleep(100);
    }
    await prune(client, { keepDays: KEEP_DAYS, deadKeepDays: 30, limit: 2000 });
    return postponed;
  },
};

const DELETE = `
WITH old AS (
  SELECT id FROM millrace.finished_jobs WHERE finished_at < now() - make_interval(days => $1) LIMIT 10000
),
payloads AS (
  DELETE FROM millrace.payloads WHERE id = ANY (ARRAY(SELECT id FROM old))
)
DELETE FROM millrace.finished_jobs WHERE id = ANY (ARRAY(SELECT id FROM old))`;

const byDelete: Way = {
  name: 'by DELETE, 10,000 at a time',
  go: async (client) => {
    while (((await client.query(DELETE, [KEEP_DAYS])).rowCount ?? 0) > 0);
    return 0;
  },
};

export const ways: readonly Way[] = [byTheDay, byDelete];
