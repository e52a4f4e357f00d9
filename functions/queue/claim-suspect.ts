import { LATE_COMMIT_SECONDS } from './claim.ts';
import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import { type ClaimedJob, type ClaimedRow, claimedJob } from './job.ts';
import type { Kinds } from './marks.ts';
import { UNPAUSED } from './unpaused.ts';

const CLAIM_SUSPECT = `
WITH ${UNPAUSED},
due AS MATERIALIZED (
  SELECT i.id
  FROM millrace.live_jobs i
  WHERE i.status = 'pending' AND i.reaps >= 2
    AND i.queue = $1 AND i.run_at <= now()
    AND i.run_at >= least(coalesce($5::timestamptz, '-infinity'), now() - make_interval(secs => $6))
    AND array_position((SELECT l.kinds FROM lane l), i.kind) IS NOT NULL
  ORDER BY i.run_at
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
claimed AS (
  UPDATE millrace.live_jobs j
  SET status = 'processing',
      attempts = j.attempts + 1,
      locked_by = $3,
      locked_until = clock_timestamp()
        + make_interval(secs => ($4::float8[])[array_position($2::text[], j.kind)]),
      started_at = clock_timestamp()
  WHERE j.id = (SELECT d.id FROM due d)
  RETURNING j.*
)
SELECT c.id, c.kind, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps,
       to_char(c.run_at AT TIME ZONE 'UTC', ${ISO}) AS run_at,
       to_char(c.created_at AT TIME ZONE 'UTC', ${ISO}) AS created_at,
       (extract(epoch FROM c.started_at - c.run_at) * 1000)::float8 AS waited_ms,
       p.payload, c.request_id, c.traceparent
FROM claimed c
LEFT JOIN millrace.payloads_of(ARRAY(SELECT c.id FROM claimed c)) p ON p.id = c.id`;

export interface SuspectRequest {
  readonly token: string;
  readonly queue: string;
  readonly kinds: Kinds;
  /** Where the position's claims last saw that no suspect was due. Default: the beginning. */
  readonly from?: string | null;
}

/**
 * Takes the oldest due job that was reaped twice or more: it may be what ended its workers, so the caller runs it with
 * nothing else in flight. Ordinary claims never return one.
 */
export async function claimSuspect(
  db: Db,
  { token, queue, kinds, from = null }: SuspectRequest,
): Promise<ClaimedJob | undefined> {
  const { rows } = await db.query<ClaimedRow>(CLAIM_SUSPECT, [
    queue,
    [...kinds.keys()],
    token,
    [...kinds.values()],
    from,
    LATE_COMMIT_SECONDS,
  ]);
  return rows[0] && claimedJob(rows[0], token, queue);
}
