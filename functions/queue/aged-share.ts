/** One job of so many goes to the oldest due whatever its priority, so that nothing starves. */
const EVERY = 10;

/** Claims that follow one another take so many of those together, or as many as they take at all. */
const TOGETHER = 10;

/**
 * How many jobs of a claim go to the oldest due. To find them a claim reads the first due job of each priority, which for ten
 * jobs costs as much as all the rest of it; so a busy run does that once for ten of them, and an idle one at each claim.
 */
export class AgedShare {
  /** Jobs asked for, less EVERY for each that was to be one of the oldest. */
  #behind: number;

  /** `behind`: default by chance. Runs that take fewer than ten jobs each give a tenth of them to the oldest, too. */
  constructor(behind = Math.floor(Math.random() * EVERY)) {
    this.#behind = behind;
  }

  /** Of a claim of `limit` jobs. `soon`: it follows another one closely (LOOK_BACK_MS). */
  of(limit: number, { soon }: { soon: boolean }): number {
    const owed = Math.floor((this.#behind + limit) / EVERY);
    return soon && owed < Math.min(TOGETHER, limit) ? 0 : Math.min(owed, limit);
  }

  /** A claim of `limit` jobs has been made, and looked for `aged` of the oldest. */
  claimed(limit: number, aged: number): void {
    this.#behind += limit - EVERY * aged;
  }
}
