import type { Db } from '../queue/db.ts';
import { firstLease } from '../queue/first-lease.ts';
import { elapsedMs, type Moment, moment } from '../queue/moment.ts';

/** Milliseconds. A lease that somebody has set back by hand is found that late. */
const BEGINNING_EACH_MS = 600_000;
/** Milliseconds that two right clocks may differ by in that time. */
const CLOCK_SLACK_MS = 1_000;

const CLOCK = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';

interface Seen extends Moment {
  readonly from: string | undefined;
  /** By the database's clock. */
  readonly databaseMs: number;
}

/**
 * Where the ticks of one process begin to look for leases that ran out. The first begins at the beginning, and one of each ten
 * minutes; and one that finds the database's clock behind where it should be by now: what was claimed since it was set back may
 * have run out before the mark.
 */
export class LeaseMark {
  readonly #beginningEachMs: number;
  #seen: Seen | undefined;
  #begunAt: Moment | undefined;

  constructor(beginningEachMs = BEGINNING_EACH_MS) {
    this.#beginningEachMs = beginningEachMs;
  }

  /** Undefined: the beginning. */
  async get(db: Db): Promise<string | undefined> {
    if (!this.#seen || !this.#begunAt || elapsedMs(this.#begunAt) >= this.#beginningEachMs) return undefined;
    const { from, databaseMs, ...seen } = this.#seen;
    return (await clockOf(db)) - databaseMs >= elapsedMs(seen) - CLOCK_SLACK_MS ? from : undefined;
  }

  /** To be called when all has been taken back that there was from `from` on, which `get` has answered. */
  async move(db: Db, from: string | undefined): Promise<void> {
    if (from === undefined) this.#begunAt = moment();
    // The clock first: a moment later it is no further than the mark was made by.
    const databaseMs = await clockOf(db);
    const seen = moment();
    this.#seen = { from: await firstLease(db, from), databaseMs, ...seen };
  }
}

async function clockOf(db: Db): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(CLOCK);
  return rows[0]?.ms ?? Number.NaN;
}
