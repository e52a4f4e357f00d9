import type { Db } from '../functions/queue/db.ts';
import type { JobId, Status } from '../functions/queue/job.ts';
import { type DeepPartial, mismatches } from './mismatch.ts';
import { assertTransaction } from './transaction.ts';

/** A job as the test sees it. Times are ISO 8601, UTC, with microseconds. */
export interface EnqueuedJob<Payload = unknown> {
  readonly id: JobId;
  readonly kind: string;
  readonly payload: Payload;
  readonly queue: string;
  readonly status: Status;
  readonly priority: number;
  readonly subject: string | null;
  readonly runAt: string;
  readonly createdAt: string;
  readonly maxAttempts: number;
  readonly idempotencyKey: string | null;
  readonly uniqueKey: string | null;
  readonly requestId: string | null;
  readonly traceparent: string | null;
}

/** now() is when the transaction began, and created_at is the clock's: what was there before is not the test's. */
const ENQUEUED = `
SELECT j.id, j.kind, j.payload, j.queue, j.status, j.priority, j.subject,
       to_char(j.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "runAt",
       to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt",
       j.max_attempts AS "maxAttempts", j.idempotency_key AS "idempotencyKey", j.unique_key AS "uniqueKey",
       j.request_id AS "requestId", j.traceparent
FROM millrace.jobs j
WHERE j.created_at >= now()
ORDER BY j.created_at, j.id`;

/**
 * The jobs that were put in since the client's transaction began, oldest first, whatever has become of them; those that
 * fit `filter` in the members that it has (of the payload, too: `{ payload: { id: 7 } }`).
 * @throws NoTransactionError if none is open
 */
export async function enqueued(client: Db, filter: DeepPartial<EnqueuedJob> = {}): Promise<EnqueuedJob[]> {
  await assertTransaction(client);
  const { rows } = await client.query<EnqueuedJob>(ENQUEUED, []);
  return rows.filter((job) => mismatches(filter, job).length === 0);
}
