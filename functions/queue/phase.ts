import { DRAIN_MARGIN_SECONDS } from './fits.ts';

/**
 * Why a run claims no more: it was asked to drain, its time runs out, it has lingered as long as it was to and another
 * one has begun, it found nothing and was not to linger any longer, or the database refuses for a reason that will not pass.
 */
export type Reason = 'drained' | 'deadline' | 'lingered' | 'emptied' | 'failed';

export interface Situation {
  readonly drainRequested: boolean;
  readonly refused: boolean;
  readonly remainingMs: number;
  readonly elapsedMs: number;
  readonly lingerMs: number;
  /** When it has lingered another run has begun, so that work left is not its own any more. */
  readonly handsOver: boolean;
  /** Kinds that can still be finished in the remaining time. */
  readonly fitting: number;
  /** The last claim of every queue came back empty. */
  readonly foundNothing: boolean;
}

/** undefined: the run goes on claiming. */
export function reasonToStop(at: Situation): Reason | undefined {
  if (at.drainRequested) return 'drained';
  if (at.refused) return 'failed';
  if (at.fitting === 0 || at.remainingMs <= DRAIN_MARGIN_SECONDS * 1000) return 'deadline';
  if (at.elapsedMs < at.lingerMs) return undefined;
  if (at.handsOver) return 'lingered';
  return at.foundNothing ? 'emptied' : undefined;
}
