import type { Db } from './db.ts';

/** What a processor is given beside its payload. */
export interface Context {
  readonly job: {
    readonly id: string;
    readonly kind: string;
    readonly queue: string;
    readonly subject: string | null;
    /** 1 for the first attempt. */
    readonly attempt: number;
    readonly maxAttempts: number;
    /** ISO 8601 with microseconds, as the database has it. */
    readonly createdAt: string;
    /** Of the HTTP request that put the job in, or what SQL was given as one; null if there was none. In `log` already. */
    readonly requestId: string | null;
    /** W3C trace context of that request, as it was given: for what the processor calls. null if there was none. */
    readonly traceparent: string | null;
    /** The schedule that put the job in, and the fire time that it is for, ISO 8601 in UTC. null for any other job. */
    readonly schedule: { readonly name: string; readonly fireAt: string } | null;
  };
  /** Aborts at the deadline, on cancel, on a lost claim and at the end of a drain; `signal.reason` says which. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Stable for the job's life: pass it to third parties so that a second attempt does not act twice. */
  readonly idempotencyKey: string;
  /**
   * Says how far the job is, for whoever asks for its status: `fraction` from 0 to 1, and a note of at most 500 characters
   * (a longer one is cut; none clears the one before). Returns at once and never fails the job for the database: the latest
   * is written at once or within about a second, for all jobs of the run in one statement, so it may be called in a loop.
   * Shown until the next attempt begins or the job ends. For people, not for resuming: what is said last may never be written.
   * @throws RangeError for a fraction that is not from 0 to 1, or a note that is not text
   */
  progress(fraction: number, note?: string): void;
  /**
   * Runs `fn` in a transaction whose last statement is the job's own completion: both commit or neither does.
   * Return its promise: `return ctx.transaction(async (tx) => result)`. At most once an attempt.
   * @throws ClaimLostError when somebody else has taken the job meanwhile (everything is rolled back)
   * @throws TransactionUsedError on a second call
   */
  transaction<Result>(fn: (tx: Db) => Promise<Result>): Promise<Result>;
}

/** Structured log: a message and fields. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}
