import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';
import { statusOf } from './status.ts';

export type RedriveAnswer = 'redriven' | { readonly wrongState: Status };

// The payload may have left with its day's partition; the dead job's own copy brings it back.
const REDRIVE = `
WITH dead AS MATERIALIZED (
  DELETE FROM millrace.dead_jobs d
  WHERE d.id = $1
  RETURNING d.*
),
payload AS (
  INSERT INTO millrace.payloads (id, payload)
  SELECT d.id, d.payload
  FROM dead d
  ON CONFLICT DO NOTHING
),
redriven AS (
  INSERT INTO millrace.live_jobs
    (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, started_at, payload_bytes, subject,
     idempotency_key, unique_key, concurrency_key, schedule_name, errors)
  SELECT d.id, d.kind, d.queue, d.priority, 0, d.max_attempts, d.reaps, greatest(d.run_at, clock_timestamp()),
         d.created_at, d.started_at, d.payload_bytes, d.subject, d.idempotency_key, d.unique_key, d.concurrency_key,
         d.schedule_name, d.errors
  FROM dead d
  RETURNING id, kind
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT r.kind, 'redriven', 1
  FROM redriven r
)
SELECT r.id FROM redriven r`;

/**
 * Makes a dead job pending again, due now, with all its attempts; its errors stay, and so does its count of reaps: one
 * that ended its workers still runs alone. A cancel request from before is forgotten. Resolves undefined if there is no
 * such job.
 */
export async function redrive(db: Db, id: JobId): Promise<RedriveAnswer | undefined> {
  for (;;) {
    if ((await db.query(REDRIVE, [id])).rowCount === 1) return 'redriven';
    const status = await statusOf(db, id);
    if (status === undefined) return undefined;
    // It was buried between the two statements: try again.
    if (status !== 'dead') return { wrongState: status };
  }
}
