import { randomUUID } from 'node:crypto';
import type { Db } from '../functions/queue/db.ts';
import { kindsThatFit } from '../functions/queue/fits.ts';
import { type ClaimedJob, type ClaimedRow, claimedJob, type JobId } from '../functions/queue/job.ts';
import type { Performable } from '../functions/queue/run-options.ts';

export interface NextRequest {
  readonly kinds: ReadonlyMap<string, Performable>;
  /** Also those that are due later, as if that time had come. */
  readonly future: boolean;
  /** Also those that have failed before and wait for their backoff. */
  readonly retries: boolean;
  /** Failed in this drain. */
  readonly failed: ReadonlySet<JobId>;
}

/*
 * As the worker's claim (migrations/0005), for one job and by another clock: now() stands still in a transaction, so a job
 * that was put in there is never due by it. now() serves to leave out what was there before the transaction began.
 */
const CLAIM_NEXT = `
WITH clock AS MATERIALIZED (
  SELECT clock_timestamp() AS at
),
due AS MATERIALIZED (
  SELECT j.id
  FROM millrace.live_jobs j
  CROSS JOIN clock c
  WHERE j.status = 'pending' AND j.created_at >= now() AND j.kind = ANY ($2::text[])
    AND (j.run_at <= c.at OR CASE WHEN j.errors IS NULL THEN $4::boolean ELSE $5::boolean END)
    AND ($5::boolean OR j.id <> ALL ($6::uuid[]))
    AND NOT EXISTS (
      SELECT
      FROM millrace.pauses p
      WHERE p.resumed_at IS NULL AND (p.scope, p.name) IN (('kind', j.kind), ('queue', j.queue)))
  ORDER BY greatest(j.run_at, c.at), j.priority DESC, j.run_at, j.id
  LIMIT 1
  FOR UPDATE OF j SKIP LOCKED
),
claimed AS (
  UPDATE millrace.live_jobs j
  SET status = 'processing',
      attempts = j.attempts + 1,
      locked_by = $1::uuid,
      locked_until = clock_timestamp() + make_interval(secs => ($3::float8[])[array_position($2::text[], j.kind)]),
      run_at = least(j.run_at, clock_timestamp()),
      started_at = clock_timestamp()
  WHERE j.id = (SELECT d.id FROM due d)
  RETURNING j.*
)
SELECT c.id, c.kind, c.queue, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps,
       to_char(c.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS run_at,
       to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
       (extract(epoch FROM c.started_at - c.run_at) * 1000)::float8 AS waited_ms,
       p.payload, c.request_id, c.traceparent
FROM claimed c
LEFT JOIN millrace.payloads_of(ARRAY(SELECT c.id FROM claimed c)) p ON p.id = c.id`;

/** Claims the next job that was put in since the transaction began: the most urgent due one, then those of the future. */
export async function claimNext(
  db: Db,
  { kinds, future, retries, failed }: NextRequest,
): Promise<ClaimedJob | undefined> {
  const leases = kindsThatFit(kinds, Infinity);
  const token = randomUUID();
  const values = [token, [...leases.keys()], [...leases.values()], future, retries, [...failed]];
  const { rows } = await db.query<ClaimedRow & { readonly queue: string }>(CLAIM_NEXT, values);
  return rows[0] && claimedJob(rows[0], token, rows[0].queue);
}
