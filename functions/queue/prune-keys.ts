import type { Db } from './db.ts';
import type { JobId } from './job.ts';

// In one snapshot, so that a job on the move is seen; in a statement of its own for the reason of docs/decisions/0004.
const OLD_KEYS = `
SELECT k.job_id AS "jobId",
       coalesce(
         (SELECT true FROM millrace.live_jobs j WHERE j.id = k.job_id),
         (SELECT true FROM millrace.finished_jobs j WHERE j.id = k.job_id),
         (SELECT true FROM millrace.dead_jobs j WHERE j.id = k.job_id),
         false) AS needed
FROM millrace.idempotency_keys k
WHERE k.checked_at < now() - make_interval(days => $1)
ORDER BY k.checked_at
LIMIT $2`;

// By job and not by key: another reaper may have deleted a key since, and an enqueue put it in again for another job.
const PRUNE_KEYS = `
WITH kept AS (
  UPDATE millrace.idempotency_keys
  SET checked_at = clock_timestamp()
  WHERE job_id = ANY (ARRAY(SELECT unnest($1::uuid[]))) AND checked_at < now() - make_interval(days => $3)
),
pruned AS (
  DELETE FROM millrace.idempotency_keys
  WHERE job_id = ANY (ARRAY(SELECT unnest($2::uuid[]))) AND checked_at < now() - make_interval(days => $3)
  RETURNING key
)
SELECT count(*)::int AS n
FROM pruned`;

/**
 * Deletes idempotency keys whose job is in no table any more. Each is looked at when it is `keepDays` old, and again after the
 * same time while its job is there; `limit` of them in this call.
 */
export async function pruneKeys(
  db: Db,
  { keepDays, limit }: { keepDays: number; limit: number },
): Promise<{ seen: number; pruned: number }> {
  const { rows: old } = await db.query<{ jobId: JobId; needed: boolean }>(OLD_KEYS, [keepDays, limit]);
  if (old.length === 0) return { seen: 0, pruned: 0 };
  const jobs = (needed: boolean) => old.filter((key) => key.needed === needed).map(({ jobId }) => jobId);
  const { rows } = await db.query<{ n: number }>(PRUNE_KEYS, [jobs(true), jobs(false), keepDays]);
  return { seen: old.length, pruned: rows[0]?.n ?? 0 };
}
