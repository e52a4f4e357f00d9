import type { Start } from './start.ts';

/** How soon a job is picked up: within a second, at once by a worker that is started for it, or with the next tick. */
export type Pickup = 'second' | 'instant' | 'minute';

/** Seconds: for what comes right behind a job. A worker is woken once in two seconds at most (migrations/0013), so no less. */
const BRIEFLY = 3;

/**
 * Seconds for which a run goes on asking after it last had something to do. A slot above the first does so that the fleet does
 * not come and go with each burst.
 */
export function lingerSeconds(pickup: Pickup, { slot, woken }: Pick<Start, 'slot' | 'woken'>): number {
  if (slot > 0) return BRIEFLY;
  if (pickup === 'second') return Infinity;
  return woken ? BRIEFLY : 0;
}
