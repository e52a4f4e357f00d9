import type { ErrorCode } from './error-code.ts';

/** What the API says of one field of a request, or of one item of a batch. */
export interface Flaw {
  /** Item of a batch, from 0. */
  readonly index?: number;
  /** JSON pointer into the body: `/payload/name`, `/jobs/3/priority`; empty for the whole. */
  readonly pointer: string;
  /** The rest of a sentence that begins with the place: "must be …". */
  readonly detail: string;
}

/** A try that brought no usable answer. */
export interface Failure {
  readonly code: ErrorCode;
  readonly status?: number;
  readonly detail: string;
  /** Whether another try may help. */
  readonly again: boolean;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly errors?: readonly Flaw[] | undefined;
  readonly problem?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** fetch() rejected, or the body ended early: whether the API has worked is not known. */
export function unreachable(error: unknown, base: string): Failure {
  const detail = `No answer from ${base}: ${reasonOf(error).replace(/\.+$/, '')}. Is url right, and is it up?`;
  return { code: 'unreachable', detail, again: true, cause: error };
}

export function timedOut(seconds: number): Failure {
  const rounded = Math.round(seconds * 100) / 100;
  return {
    code: 'timed-out',
    detail: `No answer within ${rounded} s. What was asked for may still happen.`,
    again: true,
  };
}

/** What fetch() hides behind "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause, message, code } = error as { cause?: unknown; message?: string; code?: string };
  return cause === undefined || cause === null ? message || code || String(error) : reasonOf(cause);
}
