import type { Db } from './db.ts';

// An old dead job takes its payload along, should that still lie in the oldest partition.
const PRUNE_DEAD = `
WITH pruned AS (
  DELETE FROM millrace.dead_jobs
  WHERE id = ANY (ARRAY(
    SELECT id
    FROM millrace.dead_jobs
    WHERE finished_at < now() - make_interval(days => $1)
    ORDER BY finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED))
  RETURNING id
), payloads AS (
  DELETE FROM millrace.payloads
  WHERE id = ANY (ARRAY(SELECT id FROM pruned))
)
SELECT count(*)::int AS n
FROM pruned`;

// Days go as a whole (upkeep); what remains is what never lies in a day that comes of age: the oldest partition …
const PRUNE_OLDEST = `
WITH pruned AS (
  DELETE FROM millrace.finished_jobs_oldest
  WHERE id = ANY (ARRAY(
    SELECT id
    FROM millrace.finished_jobs_oldest
    WHERE finished_at < now() - make_interval(days => $1)
    LIMIT $2
    FOR UPDATE SKIP LOCKED))
  RETURNING id
), payloads AS (
  DELETE FROM millrace.payloads
  WHERE id = ANY (ARRAY(SELECT id FROM pruned))
)
SELECT count(*)::int AS n
FROM pruned`;

// … and ids from the future: of clocks that are ahead, or not of version 7 at all.
const PRUNE_AHEAD = `
WITH pruned AS (
  DELETE FROM millrace.finished_jobs
  WHERE id = ANY (ARRAY(
    SELECT id
    FROM millrace.finished_jobs
    WHERE id >= millrace.uuidv7_floor(now() + interval '2 days')
      AND finished_at < now() - make_interval(days => $1)
    LIMIT $2
    FOR UPDATE SKIP LOCKED))
  RETURNING id
), payloads AS (
  DELETE FROM millrace.payloads
  WHERE id = ANY (ARRAY(SELECT id FROM pruned))
)
SELECT count(*)::int AS n
FROM pruned`;

/**
 * Deletes what retention by partition does not reach: dead jobs, and finished jobs whose ids belong to no recent day, each
 * with its payload. Counters are not lowered. Rows that somebody holds (a redrive) are left for the next time.
 *
 * @param options.deadKeepDays age since its end from which a dead job goes
 * @param options.keepDays age since its end from which a finished job goes
 * @param options.limit at most that many of each sort in this call
 */
export async function prune(
  db: Db,
  options: { deadKeepDays: number; keepDays: number; limit: number },
): Promise<{ pruned: number }> {
  let pruned = 0;
  for (const [statement, days] of [
    [PRUNE_DEAD, options.deadKeepDays],
    [PRUNE_OLDEST, options.keepDays],
    [PRUNE_AHEAD, options.keepDays],
  ] as const) {
    const { rows } = await db.query<{ n: number }>(statement, [days, options.limit]);
    pruned += rows[0]?.n ?? 0;
  }
  return { pruned };
}
