export type JobId = string;

export const STATUSES = ['pending', 'processing', 'completed', 'dead', 'cancelled'] as const;
export type Status = (typeof STATUSES)[number];

/** The right to settle one attempt. Only the pair counts: an id with another job's token is a stale claim. */
export interface Claim {
  readonly id: JobId;
  /** Fresh random UUID of the claim statement, kept in `locked_by`. */
  readonly token: string;
}

/** A job as its worker holds it. Times are text with microseconds: a JavaScript Date would drop them. */
export interface ClaimedJob extends Claim {
  readonly kind: string;
  readonly queue: string;
  readonly priority: number;
  readonly subject: string | null;
  /** This attempt counted in: 1 at the first. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly reaps: number;
  readonly runAt: string;
  readonly createdAt: string;
  /** Milliseconds from `run_at` to the claim, both by the database clock (`job.claimed` tells it). */
  readonly waitedMs: number;
  /** As stored; not yet parsed by the contract. */
  readonly payload: unknown;
  /** Of the request that put the job in; null if none was told. */
  readonly requestId: string | null;
  /** W3C trace context of that request, as it was given: SQL takes any text. See trace.ts. */
  readonly traceparent: string | null;
}

/** The same as the claiming statements return it. */
export interface ClaimedRow {
  readonly id: JobId;
  readonly kind: string;
  readonly priority: number;
  readonly subject: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly reaps: number;
  readonly run_at: string;
  readonly created_at: string;
  readonly waited_ms: number;
  readonly payload: unknown;
  readonly request_id: string | null;
  readonly traceparent: string | null;
}

export function claimedJob(row: ClaimedRow, token: string, queue: string): ClaimedJob {
  const { max_attempts: maxAttempts, run_at: runAt, created_at: createdAt, waited_ms: waitedMs } = row;
  const { id, kind, priority, subject, attempts, reaps, payload, request_id: requestId, traceparent } = row;
  return {
    id,
    token,
    kind,
    queue,
    priority,
    subject,
    attempts,
    maxAttempts,
    reaps,
    runAt,
    createdAt,
    waitedMs,
    payload,
    requestId,
    traceparent,
  };
}

/** One failed attempt, as kept in `errors`. At most 4 KB as JSON; the last 20 are kept. */
export interface AttemptError {
  readonly attempt: number;
  /** ISO 8601, of the worker's clock: for people, never compared. */
  readonly started_at?: string;
  readonly failed_at?: string;
  /** Which run it was, at most 200 bytes (`RunOptions.where`). Absent when a lease ran out: the reaper cannot know. */
  readonly where?: string;
  /** Class of what was thrown, `DeadlineError`, `LeaseExpired`, … */
  readonly name: string;
  /** `sealed` if the kind has a codec: then message and stack are in an envelope beside it (seal.ts). */
  readonly message: string;
  readonly stack?: string;
}
