/** Seconds after which a start takes a slot over from the run that holds it: half a tick, so that a doubled tick does not. */
export const RELIEF_SECONDS = 30;
/** Seconds within which the fleet is to be done with what is due. */
export const DRAIN_GOAL_SECONDS = 10;
/** What a job is taken to need before any was seen, in seconds. */
const UNKNOWN_JOB_SECONDS = 1;
/** Of one worker: a little more than it can do at once does not start another. */
const SLACK = 0.1;
/** Rows that a start counts at most: some 20 ms. What is due beyond them needs everybody. */
const COUNT_LIMIT = 50_000;
/** What `rowsThatMatter` is made of, for the statement that counts them (see-start.ts): it alone knows `jobSeconds` in time. */
export const COUNT = {
  slack: SLACK,
  goalSeconds: DRAIN_GOAL_SECONDS,
  unknownJobSeconds: UNKNOWN_JOB_SECONDS,
  limit: COUNT_LIMIT,
} as const;

/** A start that was asked for: by the tick of a slot, or by somebody who has put a job in and found nobody there. */
export interface Start {
  readonly slot: number;
  readonly woken: boolean;
  /** Whether the slot is to be held though nothing is due. */
  readonly lingers: boolean;
  /** Jobs in flight of one run. */
  readonly concurrency: number;
}

/** What a start finds in the database. */
export interface Seen {
  /** Of the slot: the run that claims for it now. */
  readonly holder: { readonly ageSeconds: number } | undefined;
  /** Due jobs that this run could finish, as far as `rowsThatMatter`. */
  readonly due: number;
  /** Jobs that are being processed, as far as `rowsThatMatter`. */
  readonly inFlight: number;
  /** Seconds for which a job takes a place of a run, as the last ones did; `undefined`: none was seen yet. */
  readonly jobSeconds: number | undefined;
}

/**
 * `take`: the run begins, and whoever held the slot claims no more. `held`: another run has just begun in this slot.
 * `emptied`: nothing is due. `unneeded`: those in the slots below are enough.
 */
export type StartDecision = 'take' | 'held' | 'emptied' | 'unneeded';

/**
 * Whether a run is to begin. The first slot is for whatever is due. Those above it follow the load: each finds by itself, from
 * the same rows, how many runs the fleet needs, and whether it is one of them.
 */
export function decideStart(start: Start, seen: Seen): StartDecision {
  const { holder, due } = seen;
  if (holder && (start.woken || holder.ageSeconds < RELIEF_SECONDS)) return 'held';
  if (start.slot > 0) return start.slot < runsNeeded(seen, start.concurrency) ? 'take' : 'unneeded';
  return start.woken || start.lingers || due > 0 ? 'take' : 'emptied';
}

/** How many runs are kept busy by what is processed now, and are done with what is due within `DRAIN_GOAL_SECONDS`. */
export function runsNeeded({ due, inFlight, jobSeconds }: Seen, concurrency: number): number {
  if (due >= COUNT_LIMIT) return Infinity;
  const places = inFlight + due * shareOfGoal(jobSeconds);
  return Math.max(0, Math.ceil(places / concurrency - SLACK));
}

/** How many rows must be counted to decide the same as with all of them. */
export function rowsThatMatter({ slot, concurrency }: Start, jobSeconds: number | undefined): number {
  if (slot === 0) return 1;
  return Math.min(COUNT_LIMIT, Math.ceil(((slot + SLACK) * concurrency) / shareOfGoal(jobSeconds)) + 1);
}

/** The places that one due job takes of the fleet. A job cannot be divided, so a long one takes one. */
function shareOfGoal(jobSeconds = UNKNOWN_JOB_SECONDS): number {
  return Math.min(1, Math.max(jobSeconds, 1e-4) / DRAIN_GOAL_SECONDS);
}
