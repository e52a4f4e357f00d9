import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';
import { statusOf } from './status.ts';

export type CancelAnswer =
  | 'cancelled'
  /** It is running: its signal fires within about a second, and it ends in `cancelled` unless it completes first. */
  | 'requested'
  | { readonly wrongState: Status };

// `held` locks the latest version of the row; whoever waited for it and finds the row gone looks again.
const CANCEL = `
WITH held AS MATERIALIZED (
  SELECT l.*
  FROM millrace.live_jobs l
  WHERE l.id = $1
  FOR UPDATE
),
requested AS (
  UPDATE millrace.live_jobs j
  SET cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
  WHERE j.id = (SELECT h.id FROM held h WHERE h.status = 'processing')
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = (SELECT h.id FROM held h WHERE h.status = 'pending')
),
cancelled AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors)
  SELECT h.id, h.kind, h.queue, 'cancelled', h.priority, h.attempts, h.max_attempts, h.reaps, h.run_at, h.created_at,
         h.started_at, clock_timestamp(), h.payload_bytes, h.subject, h.idempotency_key, h.unique_key,
         h.concurrency_key, h.schedule_name, h.errors
  FROM held h
  WHERE h.status = 'pending'
  RETURNING kind
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT c.kind, 'cancelled', 1
  FROM cancelled c
)
SELECT CASE h.status WHEN 'pending' THEN 'cancelled' ELSE 'requested' END AS answer
FROM held h`;

/**
 * Ends a pending job, or asks a running one to stop. Both may be repeated: a job that is cancelled already is
 * 'cancelled'. Resolves undefined if there is no such job.
 */
export async function cancel(db: Db, id: JobId): Promise<CancelAnswer | undefined> {
  for (;;) {
    const { rows } = await db.query<{ answer: 'cancelled' | 'requested' }>(CANCEL, [id]);
    if (rows[0]) return rows[0].answer;
    const status = await statusOf(db, id);
    if (status === undefined || status === 'cancelled') return status;
    // A live row again: it was redriven since. Every turn of this loop is somebody else's transition.
    if (status !== 'pending' && status !== 'processing') return { wrongState: status };
  }
}
