import type { Db } from './db.ts';
import type { Claim } from './job.ts';
import { missing, settledBefore } from './repeats.ts';
import { type Returned, wasReturned } from './retry.ts';

export type ReleasedClaim = Claim & {
  /** 0 for a drain; the time to wait for a snooze. */
  readonly delaySeconds: number;
};

// `held` and `goes_on`: as in retry.ts.
const RELEASE = `
WITH settled AS MATERIALIZED (
  SELECT DISTINCT ON (s.id, s.token) s.id, s.token, s.delay_seconds
  FROM unnest($1::uuid[], $2::uuid[], $3::float8[]) s(id, token, delay_seconds)
  ORDER BY s.id, s.token
),
held AS MATERIALIZED (
  SELECT j.*, s.delay_seconds, j.cancel_requested_at IS NOT NULL AS stops
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
         array_agg(h.delay_seconds ORDER BY h.id) AS delays
  FROM held h
  WHERE NOT h.stops
),
released AS (
  UPDATE millrace.live_jobs j
  SET status = 'pending',
      attempts = greatest(j.attempts - 1, 0),
      locked_by = NULL,
      locked_until = NULL,
      returned_by = j.locked_by,
      run_at = greatest(
        j.run_at,
        clock_timestamp() + make_interval(secs => g.delays[array_position(g.ids, j.id)]))
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
         h.unique_key, h.concurrency_key, h.schedule_name, h.errors
  FROM held h
  WHERE h.stops
  RETURNING id, kind
),
moved AS (
  SELECT r.id, r.kind, 'pending' AS status, 'released' AS event FROM released r
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
 * Gives jobs back with their attempt, due again in `delaySeconds`: nothing failed. A job that somebody asked to cancel
 * ends in `cancelled` (with the attempt: it did run). Resolves what the fence accepted; a missing id was overtaken.
 * Repeating it with the same tokens is accepted.
 */
export async function release(db: Db, claims: readonly ReleasedClaim[]): Promise<Returned[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<Returned>(RELEASE, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => claim.delaySeconds),
  ]);
  const repeats = await settledBefore(db, missing(claims, rows));
  return [...rows, ...repeats.filter(wasReturned)];
}
