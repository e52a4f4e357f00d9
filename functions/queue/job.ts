export type JobId = string;

export type Status = 'pending' | 'processing' | 'completed' | 'dead' | 'cancelled';

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
  /** As stored; not yet parsed by the contract. */
  readonly payload: unknown;
}

/** One failed attempt, as kept in `errors`. At most 4 KB as JSON; the last 20 are kept. */
export interface AttemptError {
  readonly attempt: number;
  /** ISO 8601, of the worker's clock: for people, never compared. */
  readonly started_at?: string;
  readonly failed_at?: string;
  /** Class of what was thrown, `DeadlineError`, `LeaseExpired`, … */
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}
