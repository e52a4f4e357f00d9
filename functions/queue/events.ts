import type { JobId } from './job.ts';

/**
 * What the engine says of itself; the logger and the metrics are listeners (rule: the engine imports neither).
 * Durations are milliseconds of the worker's monotonic clock.
 */
export type QueueEvent =
  | {
      readonly name: 'job.claimed';
      readonly id: JobId;
      readonly kind: string;
      readonly attempt: number;
      readonly waitedMs: number;
    }
  | {
      readonly name: 'job.completed';
      readonly id: JobId;
      readonly kind: string;
      readonly attempt: number;
      readonly durationMs: number;
    }
  | {
      readonly name: 'job.retried' | 'job.buried';
      readonly id: JobId;
      readonly kind: string;
      readonly attempt: number;
      readonly durationMs: number;
      readonly error: { readonly name: string; readonly message: string };
      readonly delaySeconds?: number;
    }
  | {
      readonly name: 'job.released' | 'job.cancelled';
      readonly id: JobId;
      readonly kind: string;
      readonly attempt: number;
      readonly durationMs: number;
    }
  /** A settle or a running attempt found its claim gone; its result is dropped. */
  | { readonly name: 'job.overtaken'; readonly id: JobId; readonly kind: string; readonly attempt: number }
  | {
      readonly name: 'job.reaped';
      readonly id: JobId;
      readonly kind: string;
      readonly attempt: number;
      readonly status: 'pending' | 'dead' | 'cancelled';
    }
  /** One claim statement, also the empty ones. */
  | { readonly name: 'claim.made'; readonly claimed: number; readonly wanted: number; readonly durationMs: number }
  /** The database did not answer; the statement is repeated or its rows are released. */
  | { readonly name: 'database.failed'; readonly during: string; readonly code: string; readonly reason: string }
  | { readonly name: 'run.drained'; readonly released: number };

export type Emit = (event: QueueEvent) => void;
