import type { Db } from '../queue/db.ts';
import { firstLease } from '../queue/first-lease.ts';
import { elapsedMs, type Moment, moment } from '../queue/moment.ts';
import { TimeSlices } from '../queue/time-slices.ts';

/**
 * Milliseconds from one round behind the mark to the next. A lease that somebody has set back by hand is found that late; later
 * beside a transaction that stays open.
 */
const BEHIND_EACH_MS = 600_000;
/** Milliseconds that two right clocks may differ by in that time. */
const CLOCK_SLACK_MS = 1_000;

const CLOCK = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';

interface Seen extends Moment {
  readonly from: string;
  /** By the database's clock. */
  readonly databaseMs: number;
}

/**
 * Where the ticks of one process begin to look for leases that ran out, the first of them now. What ended before is looked for
 * behind the mark, in slices: by the first tick, once in ten minutes, and by one that finds the database's clock behind where it
 * should be by now, since what was claimed after it was set back may have run out before the mark. From the beginning in one
 * statement it would be all that has run since vacuum could last clear it away.
 */
export class LeaseMark {
  readonly #behindEachMs: number;
  #seen: Seen | undefined;
  #behindAt: Moment | undefined;
  #behind: TimeSlices | undefined;

  constructor(behindEachMs = BEHIND_EACH_MS) {
    this.#behindEachMs = behindEachMs;
  }

  /** Where to begin. ISO 8601 in UTC. */
  async get(db: Db): Promise<string> {
    const databaseMs = await clockOf(db);
    if (!this.#seen || databaseMs - this.#seen.databaseMs < elapsedMs(this.#seen) - CLOCK_SLACK_MS) {
      return this.#lookBehind(new Date(databaseMs).toISOString());
    }
    const { from } = this.#seen;
    const due = !this.behind && (!this.#behindAt || elapsedMs(this.#behindAt) >= this.#behindEachMs);
    return due ? this.#lookBehind(from) : from;
  }

  /** To be called when all has been taken back that there was from `from` on, which `get` has answered. */
  async move(db: Db, from: string): Promise<void> {
    // The clock first: a moment later it is no further than the mark was made by.
    const databaseMs = await clockOf(db);
    const seen = moment();
    this.#seen = { from: await firstLease(db, from), databaseMs, ...seen };
  }

  /** What lies behind it and is still to be looked through. */
  get behind(): TimeSlices | undefined {
    return this.#behind?.done ? undefined : this.#behind;
  }

  /** Something is left there: the round after this one begins with the next tick. */
  leave(): void {
    this.#behindAt = undefined;
  }

  #lookBehind(from: string): string {
    this.#behindAt = moment();
    this.#behind = new TimeSlices([from]);
    return from;
  }
}

async function clockOf(db: Db): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(CLOCK);
  return rows[0]?.ms ?? Number.NaN;
}
