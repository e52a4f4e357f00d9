import type { Patience } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import { missing, settledBefore } from './repeats.ts';

export type BuriedClaim = Claim & { readonly error: AttemptError };

// A payload is never missing while its job lives; 'null' keeps one such row from failing all the others.
// Why it comes from a function: docs/decisions/0004. `$3`: as in complete.ts.
const BURY = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', coalesce($4, current_setting('lock_timeout')), true)
),
settled AS MATERIALIZED (
  SELECT DISTINCT ON (s.id, s.token) s.id, s.token, s.error
  FROM patience
  CROSS JOIN unnest($1::uuid[], $2::uuid[], $3::text[]::jsonb[]) s(id, token, error)
  ORDER BY s.id, s.token
),
held AS MATERIALIZED (
  SELECT j.*, jsonb_path_query_array(coalesce(j.errors, '[]'), '$[last - 18 to last]') || s.error AS all_errors
  FROM settled s
  CROSS JOIN LATERAL (
    SELECT l.*
    FROM millrace.live_jobs l
    WHERE l.id = s.id AND l.locked_by = s.token
    FOR UPDATE
  ) j
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(SELECT h.id FROM held h))
),
buried AS (
  INSERT INTO millrace.dead_jobs
    (id, kind, queue, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
     payload, request_id, traceparent)
  SELECT h.id, h.kind, h.queue, h.priority, h.attempts, h.max_attempts, h.reaps, h.locked_by, h.run_at, h.created_at,
         h.started_at, h.cancel_requested_at, h.payload_bytes, h.subject, h.idempotency_key, h.unique_key,
         h.concurrency_key, h.schedule_name, h.all_errors,
         coalesce(p.payload, 'null'), h.request_id, h.traceparent
  FROM held h
  LEFT JOIN millrace.payloads_of(ARRAY(SELECT h.id FROM held h)) p ON p.id = h.id
  RETURNING id, kind
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT b.kind, 'buried', count(*)
  FROM buried b
  GROUP BY b.kind
)
SELECT b.id FROM buried b`;

/**
 * Moves failed jobs to dead_jobs with their error history and a copy of the payload; `redrive` brings them back. A cancel
 * request does not change that: the failure stays to be seen. Resolves the ids accepted by the fence; a missing id was
 * overtaken. Repeating it with the same tokens is accepted.
 * `patience`: how long it waits for somebody who holds a row; default as long as the connection does.
 */
export async function bury(db: Db, claims: readonly BuriedClaim[], patience?: Patience): Promise<JobId[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<{ id: JobId }>(BURY, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => JSON.stringify(claim.error)),
    patience ?? null,
  ]);
  const repeats = await settledBefore(db, missing(claims, rows));
  return [...rows, ...repeats.filter((job) => job.status === 'dead')].map((job) => job.id);
}
