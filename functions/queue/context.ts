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
  };
  /** Aborts at the deadline, on cancel, on a lost claim and at the end of a drain; `signal.reason` says which. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Stable for the job's life: pass it to third parties so that a second attempt does not act twice. */
  readonly idempotencyKey: string;
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
