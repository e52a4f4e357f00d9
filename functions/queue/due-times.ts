import type { FireTimes } from './fire-times.ts';
import type { CatchUp } from './schedule.ts';

/** Fire times that `catchUp: 'all'` makes up for at most, the latest of them. */
export const CATCH_UP_LIMIT = 1_000;
/**
 * Seconds for which somebody may be late for a fire time without having missed it (`catchUp: 'none'`): workers start each minute,
 * and a tick may fail to come.
 */
const LATE_SECONDS = 120;

export interface Due {
  /** Milliseconds since 1970, in order. All before the first pass with it. */
  readonly times: readonly number[];
  /** They pass, and nothing is made up for. */
  readonly missed: boolean;
}

/** Which fire times are to come now, of those after `after` up to `now`. */
export function dueTimes(times: FireTimes, catchUp: CatchUp, { after, now }: { after: number; now: number }): Due {
  const due = times.between(after, now, catchUp === 'all' ? CATCH_UP_LIMIT : 1);
  const lateMs = now - (due.at(-1) ?? now);
  return { times: due, missed: catchUp === 'none' && lateMs > LATE_SECONDS * 1000 };
}
