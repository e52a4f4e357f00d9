import type { Patience } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { Claim, JobId } from './job.ts';
import { missing, settledBefore } from './repeats.ts';

export type CompletedClaim = Claim & {
  /** What jsonb can hold (result.ts); `undefined` is kept as null. */
  readonly result: unknown;
};

// `$3` is sent as text: some drivers turn what is declared as jsonb into JSON a second time.
const COMPLETE = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', coalesce($4, current_setting('lock_timeout')), true)
),
settled AS MATERIALIZED (
  SELECT DISTINCT ON (s.id, s.token) s.id, s.token, s.result
  FROM patience
  CROSS JOIN unnest($1::uuid[], $2::uuid[], $3::text[]::jsonb[]) s(id, token, result)
  ORDER BY s.id, s.token
),
gone AS MATERIALIZED (
  DELETE FROM millrace.live_jobs j
  USING settled s
  WHERE j.id = ANY (ARRAY(SELECT t.id FROM settled t)) AND j.id = s.id AND j.locked_by = s.token
  RETURNING j.*, s.result
),
completed AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
     result, request_id, traceparent)
  SELECT g.id, g.kind, g.queue, 'completed', g.priority, g.attempts, g.max_attempts, g.reaps, g.locked_by, g.run_at,
         g.created_at, g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key,
         g.unique_key, g.concurrency_key, g.schedule_name, g.errors, g.result, g.request_id, g.traceparent
  FROM gone g
  RETURNING id, kind
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT c.kind, 'completed', count(*)
  FROM completed c
  GROUP BY c.kind
)
SELECT c.id FROM completed c`;

/**
 * Finishes claimed jobs, also those that somebody asked to cancel: their effects have happened. Resolves the ids accepted
 * by the fence; a missing id was overtaken, and its result is dropped. Repeating it with the same tokens is accepted.
 * `patience`: how long it waits for somebody who holds a row; default as long as the connection does.
 */
export async function complete(db: Db, claims: readonly CompletedClaim[], patience?: Patience): Promise<JobId[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<{ id: JobId }>(COMPLETE, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => JSON.stringify(claim.result) ?? 'null'),
    patience ?? null,
  ]);
  const repeats = await settledBefore(db, missing(claims, rows));
  return [...rows, ...repeats.filter((job) => job.status === 'completed')].map((job) => job.id);
}
