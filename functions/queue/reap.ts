import type { Db } from './db.ts';
import type { JobId } from './job.ts';

export interface Reaped {
  readonly id: JobId;
  readonly kind: string;
  /** The attempt whose lease ran out. */
  readonly attempt: number;
  readonly status: 'pending' | 'dead' | 'cancelled';
}

/*
 * The delay is uniform from 1 s to 10 s after a first reap, doubling to 60 s. A lease outlives its job's deadline, so the
 * job has waited already and is most likely innocent: its worker died. The spread keeps those that died together from
 * being claimed together again, and a job that ends its workers from doing so at full speed.
 * `goes_on`: as in retry.ts. locked_by is cleared and returned_by left alone: the late worker settled nothing, and is told so.
 */
const REAP = `
WITH expired AS MATERIALIZED (
  SELECT l.*
  FROM millrace.live_jobs l
  WHERE l.status = 'processing' AND l.locked_until <= now()
  ORDER BY l.locked_until
  LIMIT $1
  FOR UPDATE SKIP LOCKED
),
judged AS MATERIALIZED (
  SELECT e.*,
         CASE
           WHEN e.cancel_requested_at IS NOT NULL THEN 'cancelled'
           WHEN e.attempts >= e.max_attempts THEN 'dead'
           ELSE 'pending'
         END AS outcome,
         jsonb_build_object(
           'attempt', e.attempts,
           'started_at', to_char(e.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'failed_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'name', 'LeaseExpired',
           'message', 'the lease ran out and nobody had settled the attempt: its worker died, hung or lost the database'
         ) AS error
  FROM expired e
),
goes_on AS MATERIALIZED (
  SELECT array_agg(g.id ORDER BY g.id) AS ids,
         array_agg(g.error ORDER BY g.id) AS errors
  FROM judged g
  WHERE g.outcome = 'pending'
),
returned AS (
  UPDATE millrace.live_jobs j
  SET status = 'pending',
      locked_by = NULL,
      locked_until = NULL,
      reaps = j.reaps + 1,
      run_at = greatest(
        j.run_at,
        clock_timestamp() + make_interval(secs => 1 + random() * (least(60, 10 * 2 ^ least(j.reaps, 3)) - 1))),
      errors = jsonb_path_query_array(coalesce(j.errors, '[]'), '$[last - 18 to last]')
        || g.errors[array_position(g.ids, j.id)]
  FROM goes_on g
  WHERE j.id = ANY (g.ids)
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(SELECT g.id FROM judged g WHERE g.outcome <> 'pending'))
),
cancelled AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors)
  SELECT g.id, g.kind, g.queue, 'cancelled', g.priority, g.attempts, g.max_attempts, g.reaps + 1, g.run_at,
         g.created_at, g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key,
         g.unique_key, g.concurrency_key, g.schedule_name,
         jsonb_path_query_array(coalesce(g.errors, '[]'), '$[last - 18 to last]') || g.error
  FROM judged g
  WHERE g.outcome = 'cancelled'
),
buried AS (
  INSERT INTO millrace.dead_jobs
    (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, started_at, cancel_requested_at,
     payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors, payload)
  SELECT g.id, g.kind, g.queue, g.priority, g.attempts, g.max_attempts, g.reaps + 1, g.run_at, g.created_at,
         g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key, g.unique_key,
         g.concurrency_key, g.schedule_name,
         jsonb_path_query_array(coalesce(g.errors, '[]'), '$[last - 18 to last]') || g.error,
         coalesce(p.payload, 'null')
  FROM judged g
  LEFT JOIN millrace.payloads_of(ARRAY(SELECT g.id FROM judged g WHERE g.outcome = 'dead')) p ON p.id = g.id
  WHERE g.outcome = 'dead'
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT g.kind, v.event, count(*)
  FROM judged g
  CROSS JOIN LATERAL (
    VALUES ('reaped', true), ('cancelled', g.outcome = 'cancelled'), ('buried', g.outcome = 'dead')
  ) v(event, happened)
  WHERE v.happened
  GROUP BY g.kind, v.event
)
SELECT g.id, g.kind, g.attempts AS attempt, g.outcome AS status
FROM judged g
ORDER BY g.locked_until`;

/**
 * Takes jobs back whose lease ran out by the database's clock, the longest ago first: pending again after a short random
 * delay, dead if that was the last attempt, cancelled if somebody asked for it. `limit` is per call; rows that a settle
 * holds at the moment are left to it.
 */
export async function reap(db: Db, options: { readonly limit: number }): Promise<Reaped[]> {
  return (await db.query<Reaped>(REAP, [options.limit])).rows;
}
