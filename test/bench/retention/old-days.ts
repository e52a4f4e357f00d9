import type pg from 'pg';
import { layPastDays } from '../../support/partitions.ts';
import { layPayloads } from '../frame/payloads.ts';

/** Retention of finished jobs as it is set by default: whatever was made before goes. */
export const KEEP_DAYS = 7;
/** Days before that, which are still there. */
export const OLD_DAYS = 7;

/** A row for each of $1 times, evenly from two weeks ago to eight days ago. */
const MADE = `
SELECT uuidv7(at - now()) AS id, at
FROM generate_series(1, $1::int) i,
     LATERAL (SELECT now() - make_interval(days => ${KEEP_DAYS + 1}, secs => ($1 - i) * ${OLD_DAYS - 1} * 86400.0 / ($1 - 1)) AS at) t`;

const FINISHED = `
INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at,
                                    created_at, started_at, finished_at, payload_bytes)
SELECT id, 'old.job', 'default', 'completed', 0, 1, 5, 0, gen_random_uuid(), at, at, at, at, 9
FROM (${MADE}) made`;

const DEAD = `
INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, finished_at,
                                payload_bytes, payload)
SELECT id, 'old.dead', 'default', 0, 5, 5, 0, at, at, at, 9, '{"n": 1}'
FROM (${MADE}) made`;

const FUTURE = `
INSERT INTO millrace.live_jobs (id, kind, run_at, created_at, payload_bytes)
SELECT id, 'old.future', now() + interval '1 year', at, 9
FROM (${MADE}) made`;

/** Lays so many finished jobs of the old days, and in each day one that is dead and one that is due in a year. */
export async function layOldDays(client: pg.Client, finished: number): Promise<void> {
  await layPastDays(client, KEEP_DAYS + OLD_DAYS);
  await client.query(FINISHED, [finished]);
  await client.query(DEAD, [OLD_DAYS]);
  await client.query(FUTURE, [OLD_DAYS]);
  await layPayloads(client);
  await client.query('VACUUM ANALYZE');
}

/** Jobs of the old days that can still be read, with their payloads, by kind. */
export async function whatRemains(client: pg.Client): Promise<Readonly<Record<string, number>>> {
  const { rows } = await client.query<{ kind: string; n: number }>(
    `SELECT kind, count(payload)::int AS n FROM millrace.jobs WHERE kind LIKE 'old.%' GROUP BY kind`,
  );
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
}
