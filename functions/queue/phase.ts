import { DRAIN_MARGIN_SECONDS } from './fits.ts';

/**
 * Why a run claims no more: it was asked to drain, its time runs out, another run has taken its place, it found nothing for
 * as long as it was to linger, or the database refuses for a reason that will not pass.
 */
export type Reason = 'drained' | 'deadline' | 'relieved' | 'emptied' | 'failed';

/** `claim`: the run goes on. `leave`: its presence is to be cleared, and all queues are to be asked once more. */
export type Phase = 'claim' | 'leave' | Reason;

export interface Situation {
  readonly drainRequested: boolean;
  readonly refused: boolean;
  readonly remainingMs: number;
  /** Another run claims in its place from now on. */
  readonly relieved: boolean;
  /** Kinds that can still be finished in the remaining time. */
  readonly fitting: number;
  /** The last claim of every queue came back empty, and nothing is in flight. */
  readonly foundNothing: boolean;
  /** Milliseconds since it last had something to do. */
  readonly idleMs: number;
  readonly lingerMs: number;
  /** Others believe that it claims: a run that leaves says otherwise first, and then claims once more (presence.ts). */
  readonly present: boolean;
}

export function nextPhase(at: Situation): Phase {
  if (at.drainRequested) return 'drained';
  if (at.refused) return 'failed';
  if (at.fitting === 0 || at.remainingMs <= DRAIN_MARGIN_SECONDS * 1000) return 'deadline';
  if (at.relieved) return 'relieved';
  if (!at.foundNothing || at.idleMs < at.lingerMs) return 'claim';
  return at.present ? 'leave' : 'emptied';
}
