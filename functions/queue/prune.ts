import type { Db } from './db.ts';
import { pruneKeys } from './prune-keys.ts';

/*
 * Finished days go as a whole (upkeep); what remains is what never lies in a day that comes of age: the oldest partition, and
 * ids from the future (of clocks that are ahead, or not of version 7 at all). Each takes its payload along, should that still
 * be there.
 */
const PRUNE_JOBS = `
WITH old AS MATERIALIZED (
  SELECT dead.id
  FROM (
    SELECT id
    FROM millrace.dead_jobs
    WHERE finished_at < now() - make_interval(days => $1)
    ORDER BY finished_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
  ) dead
  UNION ALL
  SELECT oldest.id
  FROM (
    SELECT id
    FROM millrace.finished_jobs_oldest
    WHERE finished_at < now() - make_interval(days => $2)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
  ) oldest
  UNION ALL
  SELECT ahead.id
  FROM (
    SELECT id
    FROM millrace.finished_jobs
    WHERE id >= millrace.uuidv7_floor(now() + interval '2 days')
      AND finished_at < now() - make_interval(days => $2)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
  ) ahead
),
dead AS (
  DELETE FROM millrace.dead_jobs
  WHERE id = ANY (ARRAY(SELECT id FROM old))
),
finished AS (
  DELETE FROM millrace.finished_jobs
  WHERE id = ANY (ARRAY(SELECT id FROM old))
),
payloads AS (
  DELETE FROM millrace.payloads
  WHERE id = ANY (ARRAY(SELECT id FROM old))
)
SELECT count(*)::int AS n
FROM old`;

// What is older than a minute: a job that ends at this moment may be telling its progress over another connection.
const PRUNE_PROGRESS = `
WITH pruned AS (
  DELETE FROM millrace.job_progress
  WHERE id = ANY (ARRAY(
    SELECT p.id
    FROM millrace.job_progress p
    WHERE p.updated_at < now() - interval '1 minute'
      AND (SELECT true FROM millrace.live_jobs j WHERE j.id = p.id) IS NULL
    LIMIT $1))
  RETURNING id
)
SELECT count(*)::int AS n
FROM pruned`;

const PRUNE_LOG = `
WITH pruned AS (
  DELETE FROM millrace.operator_log
  WHERE id = ANY (ARRAY(
    SELECT id
    FROM millrace.operator_log
    WHERE at < now() - interval '365 days'
    ORDER BY at
    LIMIT $1))
  RETURNING id
)
SELECT count(*)::int AS n
FROM pruned`;

// A schedule that the code has is declared anew every few minutes, as long as its workers start.
const PRUNE_SCHEDULES = `
WITH pruned AS (
  DELETE FROM millrace.schedules
  WHERE declared_at < now() - interval '30 days'
  RETURNING name
)
SELECT count(*)::int AS n
FROM pruned`;

export interface Pruned {
  /** Jobs. */
  readonly pruned: number;
  readonly prunedKeys: number;
  readonly prunedProgress: number;
  readonly prunedLog: number;
  readonly prunedSchedules: number;
  /** Some part came to its limit: call again. */
  readonly more: boolean;
}

/**
 * Deletes what retention by partition does not reach: dead jobs, and finished jobs whose ids belong to no recent day, each
 * with its payload; idempotency keys of jobs that are in no table any more; progress of jobs that have ended; a year-old
 * operator log; schedules that no worker has declared for 30 days. Counters are not lowered. Rows that somebody holds (a redrive) are left for the next time.
 *
 * @param options.deadKeepDays age since its end from which a dead job goes
 * @param options.keepDays age since its end from which a finished job goes
 * @param options.keyKeepDays age of an idempotency key, or `keepDays` if that is more (default), at which it is looked at; one whose
 * job is still there is looked at again after the same time
 * @param options.limit at most that many of each sort in this call
 */
export async function prune(
  db: Db,
  {
    deadKeepDays,
    keepDays,
    keyKeepDays = 1,
    limit,
  }: { deadKeepDays: number; keepDays: number; keyKeepDays?: number; limit: number },
): Promise<Pruned> {
  const pruned = await counted(db, PRUNE_JOBS, [deadKeepDays, keepDays, limit]);
  const keys = await pruneKeys(db, { keepDays: Math.max(keepDays, keyKeepDays), limit });
  const prunedProgress = await counted(db, PRUNE_PROGRESS, [limit]);
  const prunedLog = await counted(db, PRUNE_LOG, [limit]);
  const prunedSchedules = await counted(db, PRUNE_SCHEDULES, []);
  const more = Math.max(pruned, keys.seen, prunedProgress, prunedLog) >= limit;
  return { pruned, prunedKeys: keys.pruned, prunedProgress, prunedLog, prunedSchedules, more };
}

async function counted(db: Db, statement: string, values: unknown[]): Promise<number> {
  return (await db.query<{ n: number }>(statement, values)).rows[0]?.n ?? 0;
}
