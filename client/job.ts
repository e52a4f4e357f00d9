export type Status = 'pending' | 'processing' | 'completed' | 'dead' | 'cancelled';

/** What every answer shows of a job. Times are ISO 8601, UTC, with microseconds (a Date would drop them). */
export interface JobView {
  readonly id: string;
  /** Any text: a job may be older than the contracts at hand. */
  readonly kind: string;
  readonly queue: string;
  readonly subject: string | null;
  readonly status: Status;
  readonly priority: number;
  /** Attempts begun so far. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** When it is due, or was when it was last claimed. */
  readonly runAt: string;
  readonly createdAt: string;
  /** Begin of the latest attempt. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** Of the request that put it in. */
  readonly requestId: string | null;
  readonly idempotencyKey: string | null;
  readonly uniqueKey: string | null;
  /** What the processor last said of how far it is; null when it said nothing, and once the job has ended. */
  readonly progress: Progress | null;
}

export interface Progress {
  /** 0 to 1. */
  readonly fraction: number;
  readonly note: string | null;
  readonly updatedAt: string;
}

export interface Job extends JobView {
  /** The last 20 failed attempts, oldest first. */
  readonly errors: readonly AttemptError[];
}

/** One row of a listing. */
export interface ListedJob extends JobView {
  readonly lastError: Omit<AttemptError, 'stack'> | null;
}

export interface AttemptError {
  readonly attempt: number;
  readonly startedAt?: string;
  readonly failedAt?: string;
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** Which run it was: function, request and log stream, or `host:pid`. */
  readonly where?: string;
}

/** Large parts of a job, shown if asked for. A token with the role `producer` may not ask. */
export type Part = 'payload' | 'result';

/** A job with the parts that were asked for. `result` is null until it is completed. */
export type JobWith<P extends Part> = Job & { readonly [Key in P]: unknown };
