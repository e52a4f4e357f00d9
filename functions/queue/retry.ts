import type { Db } from './db.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import { missing, type Repeat, settledBefore } from './repeats.ts';

export type RetriedClaim = Claim & { readonly error: AttemptError; readonly delaySeconds: number };

/** A job that was given back, and where it is now: a cancel request ends it. */
export interface Returned {
  readonly id: JobId;
  readonly status: 'pending' | 'cancelled';
}

/*
 * `held` locks the latest version of each row, so that no cancel request falls between the decision and the move.
 * What the update needs comes in one row of arrays: a join with many rows of a guessed number may become quadratic.
 */
const RETRY = `
WITH settled AS MATERIALIZED (
  SELECT DISTINCT ON (s.id, s.token) s.id, s.token, s.error, s.delay_seconds
  FROM unnest($1::uuid[], $2::uuid[], $3::jsonb[], $4::float8[]) s(id, token, error, delay_seconds)
  ORDER BY s.id, s.token
),
held AS MATERIALIZED (
  SELECT j.*, s.error, s.delay_seconds, j.cancel_requested_at IS NOT NULL AS stops
  FROM settled s
  CROSS JOIN LATERAL (
    SELECT l.*
    FROM millrace.live_jobs l
    WHERE l.id = s.id AND l.locked_by = s.token
    FOR UPDATE
  ) j
),
goes_on AS MATERIALIZED (
  SELECT array_agg(h.id ORDER BY h.id) AS ids,
         array_agg(h.error ORDER BY h.id) AS errors,
         array_agg(h.delay_seconds ORDER BY h.id) AS delays
  FROM held h
  WHERE NOT h.stops
),
retried AS (
  UPDATE millrace.live_jobs j
  SET status = 'pending',
      locked_by = NULL,
      locked_until = NULL,
      returned_by = j.locked_by,
      run_at = greatest(
        j.run_at,
        clock_timestamp() + make_interval(secs => g.delays[array_position(g.ids, j.id)])),
      errors = jsonb_path_query_array(coalesce(j.errors, '[]'), '$[last - 18 to last]')
        || g.errors[array_position(g.ids, j.id)]
  FROM goes_on g
  WHERE j.id = ANY (g.ids)
  RETURNING j.id, j.kind
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(SELECT h.id FROM held h WHERE h.stops))
),
cancelled AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors)
  SELECT h.id, h.kind, h.queue, 'cancelled', h.priority, h.attempts, h.max_attempts, h.reaps, h.locked_by, h.run_at,
         h.created_at, h.started_at, h.cancel_requested_at, h.payload_bytes, h.subject, h.idempotency_key,
         h.unique_key, h.concurrency_key, h.schedule_name,
         jsonb_path_query_array(coalesce(h.errors, '[]'), '$[last - 18 to last]') || h.error
  FROM held h
  WHERE h.stops
  RETURNING id, kind
),
moved AS (
  SELECT r.id, r.kind, 'pending' AS status, 'retried' AS event FROM retried r
  UNION ALL
  SELECT c.id, c.kind, 'cancelled', 'cancelled' FROM cancelled c
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT m.kind, m.event, count(*)
  FROM moved m
  GROUP BY m.kind, m.event
)
SELECT m.id, m.status FROM moved m`;

/**
 * Gives failed jobs back, due again in `delaySeconds`. The attempt is spent and the error kept (the last 20 are). A job
 * that somebody asked to cancel ends in `cancelled`. Resolves what the fence accepted; a missing id was overtaken.
 * Repeating it with the same tokens is accepted. A job with no attempt left is for `bury`: the database refuses it here.
 */
export async function retry(db: Db, claims: readonly RetriedClaim[]): Promise<Returned[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<Returned>(RETRY, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => JSON.stringify(claim.error)),
    claims.map((claim) => claim.delaySeconds),
  ]);
  const repeats = await settledBefore(db, missing(claims, rows));
  return [...rows, ...repeats.filter(wasReturned)];
}

/** A settle that gave the job back: retry, release, or either of them on a job that was to be cancelled. */
export function wasReturned(repeat: Repeat): repeat is Returned {
  return repeat.status === 'pending' || repeat.status === 'cancelled';
}
