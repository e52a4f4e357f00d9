import type { Patience } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import { DEATHS, type OnDead, onDeadColumns } from './on-dead.ts';
import { missing, settledBefore } from './repeats.ts';

export type BuriedClaim = Claim & { readonly error: AttemptError };

// A payload is never missing while its job lives; 'null' keeps one such row from failing all the others.
// Why it comes from a function: docs/decisions/0004. `$3`: as in complete.ts. `refused`: those with no job put in for them
// though their kind has one (docs/decisions/0017).
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
  SELECT j.*, jsonb_path_query_array(coalesce(j.errors, '[]'), '$[last - 18 to last]') || s.error AS all_errors,
         s.error
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
died AS MATERIALIZED (
  SELECT ${DEATHS} AS deaths
  FROM held d
  JOIN unnest($5::text[], $6::text[], $7::text[], $8::int[]) o(dead, kind, queue, max_attempts) ON o.dead = d.kind
),
refused AS MATERIALIZED (
  SELECT r.id, r.reason
  FROM died
  CROSS JOIN LATERAL millrace.put_on_dead(died.deaths) r
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT b.kind, 'buried', count(*)
  FROM buried b
  GROUP BY b.kind
)
SELECT b.id, b.kind, r.reason AS refused
FROM buried b
LEFT JOIN refused r ON r.id = b.id`;

export interface BuryOptions {
  /** How long it waits for somebody who holds a row. Default as long as the connection does. */
  readonly patience?: Patience | undefined;
  /** The jobs that are put in for the dead, in the same statement. Default none. */
  readonly onDead?: OnDead | undefined;
}

/**
 * Moves failed jobs to dead_jobs with their error history and a copy of the payload; `redrive` brings them back. A cancel
 * request does not change that: the failure stays to be seen. Resolves the ids accepted by the fence; a missing id was
 * overtaken. Repeating it with the same tokens is accepted, and puts in nothing again.
 */
export async function bury(
  db: Db,
  claims: readonly BuriedClaim[],
  { patience, onDead }: BuryOptions = {},
): Promise<JobId[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<{ id: JobId; kind: string; refused: string | null }>(BURY, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => JSON.stringify(claim.error)),
    patience ?? null,
    ...onDeadColumns(onDead?.jobs),
  ]);
  for (const { refused, ...job } of rows) if (refused !== null) onDead?.refused(job, refused);
  const repeats = await settledBefore(db, missing(claims, rows));
  return [...rows, ...repeats.filter((job) => job.status === 'dead')].map((job) => job.id);
}
