import type { JobId } from './job.ts';
import type { Reason } from './phase.ts';

/** Which attempt of which job, and the request that put the job in: one id finds all of them in the log. */
interface OfAttempt {
  readonly id: JobId;
  readonly kind: string;
  readonly attempt: number;
  readonly requestId: string | null;
  readonly traceparent: string | null;
}

/**
 * What the engine says of itself; the logger and the metrics are listeners (rule: the engine imports neither).
 * Durations are milliseconds of the worker's monotonic clock.
 */
export type QueueEvent =
  | (OfAttempt & { readonly name: 'job.claimed'; readonly waitedMs: number })
  | (OfAttempt & { readonly name: 'job.completed'; readonly durationMs: number })
  | (OfAttempt & {
      readonly name: 'job.retried' | 'job.buried';
      readonly durationMs: number;
      /** `at`: the place of the application's code that threw, `/app/jobs/processors.ts:12:9`. */
      readonly error: { readonly name: string; readonly message: string; readonly at?: string };
      readonly delaySeconds?: number;
    })
  | (OfAttempt & { readonly name: 'job.released' | 'job.cancelled'; readonly durationMs: number })
  /** A settle or a running attempt found its claim gone; its result is dropped. */
  | (OfAttempt & { readonly name: 'job.overtaken' })
  /** The job is buried, but the database would not take the one that its kind's `onDead` names. */
  | { readonly name: 'job.on_dead_refused'; readonly id: JobId; readonly kind: string; readonly reason: string }
  | (OfAttempt & { readonly name: 'job.reaped'; readonly status: 'pending' | 'dead' | 'cancelled' })
  /** A fire time of a schedule has come, and a job was put in for it, `lateMs` after it by the database's clock. */
  | {
      readonly name: 'schedule.fired';
      readonly schedule: string;
      readonly kind: string;
      /** ISO 8601. */
      readonly fireAt: string;
      readonly jobId: JobId;
      readonly lateMs: number;
    }
  /**
   * A fire time for which there is no job: one of the schedule is live, it is paused, it was missed and is not made up for, or
   * other code has declared other times since.
   */
  | {
      readonly name: 'schedule.passed';
      readonly schedule: string;
      readonly kind: string;
      readonly fireAt: string;
      readonly why: 'overlap' | 'paused' | 'missed' | 'superseded';
    }
  /** What the database, or its kind's codec, refuses. It is tried again, by this run or the next; the other schedules go on. */
  | { readonly name: 'schedule.failed'; readonly schedule: string; readonly reason: string }
  /** One claim statement, also the empty ones. */
  | { readonly name: 'claim.made'; readonly claimed: number; readonly wanted: number; readonly durationMs: number }
  /** The database did not answer; the statement is repeated or its rows are released. */
  | { readonly name: 'database.failed'; readonly during: string; readonly code: string; readonly reason: string }
  /** It claims no more, and finishes what it holds. */
  | { readonly name: 'run.last_claimed'; readonly reason: Reason }
  | { readonly name: 'run.drained'; readonly released: number };

export type Emit = (event: QueueEvent) => void;
