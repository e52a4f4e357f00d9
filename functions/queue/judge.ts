import { attemptError } from './attempt-error.ts';
import {
  CancelledError,
  ClaimLostError,
  DeadlineError,
  DrainError,
  isDelay,
  PermanentError,
  RetryAfter,
  Snooze,
  UnstorableError,
} from './errors.ts';
import type { Outcome } from './outcome.ts';
import { keptResult } from './result.ts';
import type { TransactionState } from './transaction.ts';

/** How the processor ended: by itself, or given up because it did not stop within the grace. */
export type Ending =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly thrown: unknown }
  | { readonly kind: 'abandoned' };

export interface Circumstances {
  /** Why it was told to stop, if it was. */
  readonly stopReason: Error | undefined;
  readonly transaction: TransactionState;
  readonly attempt: number;
  readonly startedAt: Date;
  readonly failedAt: Date;
  readonly where: string;
}

/**
 * What an attempt came to. What the database knows goes first (committed, lost), then a result, then what the processor
 * threw of its own will (PermanentError, RetryAfter, Snooze); any other error after a stop counts as the stop's doing.
 */
export function judge(ending: Ending, at: Circumstances): Outcome {
  if (at.transaction === 'committed') return { kind: 'committed' };
  if (at.transaction === 'lost' || at.transaction === 'unknown') return { kind: 'lost' };
  if (at.stopReason instanceof ClaimLostError) return { kind: 'lost' };
  if (ending.kind === 'returned') return succeeded(ending.value, at);
  const thrown = ending.kind === 'threw' ? ending.thrown : undefined;
  const seconds = delayOf(thrown);
  if (isA(Snooze, thrown) && seconds !== undefined) return { kind: 'snoozed', seconds };
  if (isA(RetryAfter, thrown) && seconds !== undefined) return { ...failed(thrown, at), retryAfterSeconds: seconds };
  if (isA(PermanentError, thrown) || isA(UnstorableError, thrown)) return { ...failed(thrown, at), permanent: true };
  if (at.stopReason instanceof CancelledError || at.stopReason instanceof DrainError) return { kind: 'stopped' };
  if (at.stopReason instanceof DeadlineError) return failed(late(at.stopReason, ending), at);
  return failed(thrown, at);
}

/** A result that jsonb cannot hold fails for good: running again would repeat the effects and return the same. */
function succeeded(value: unknown, at: Circumstances): Outcome {
  try {
    return { kind: 'succeeded', result: keptResult(value) };
  } catch (error) {
    return { ...failed(error, at), permanent: true };
  }
}

function failed(thrown: unknown, at: Circumstances): Outcome & { kind: 'failed' } {
  return { kind: 'failed', error: attemptError(thrown, at), permanent: false };
}

function late(reason: DeadlineError, ending: Ending): DeadlineError {
  if (ending.kind === 'abandoned')
    return new DeadlineError(`${reason.message}; it did not stop when told to and was given up`);
  if (ending.kind === 'threw' && ending.thrown !== reason)
    return new DeadlineError(reason.message, { cause: ending.thrown });
  return reason;
}

/** undefined also for what the constructors would not have let through: the job's code may have changed it since. */
function delayOf(thrown: unknown): number | undefined {
  try {
    const { seconds } = thrown as { seconds?: unknown };
    return isDelay(seconds) ? seconds : undefined;
  } catch {
    return undefined;
  }
}

/** `instanceof` that a hostile Proxy cannot make throw. */
function isA<T>(type: abstract new (...args: never[]) => T, thrown: unknown): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}
