/** Milliseconds that a slice should take beyond the quickest one, which is for the connection (the first is so itself): some 100,000 entries. */
const SLICE_MS = 50;
/** Milliseconds of time in the first slice. */
const FIRST_SPAN_MS = 10_000;
const LEAST_SPAN_MS = 1_000;
/** A slice is no shorter than this share of how far they have come: however unsteadily a database answers, they come to their end. */
const LEAST_SHARE = 1 / 64;
/** From here on a slice goes to the beginning of time. */
const LONGEST_SPAN_MS = 86_400_000;
const BEGINNING = Number.NEGATIVE_INFINITY;

/** A span of time: ISO 8601, or `-infinity`. */
export interface Slice {
  readonly from: string;
  /** Not in it. */
  readonly until: string;
}

/**
 * Time before a moment, in slices that are to be looked through from there back to the beginning. How many entries of an index lie
 * in one is known only afterwards, so each is twice as long as the one before if that was quick, and half as long if it was slow.
 */
export class TimeSlices {
  readonly #start: number;
  #until: number;
  #spanMs = FIRST_SPAN_MS;
  #leastShare = LEAST_SHARE;
  #quickestMs = Infinity;

  /** ISO 8601: they begin at the latest. With none there is nothing to be looked through. */
  constructor(before: readonly string[]) {
    // A millisecond that a microsecond lies in ends with the next one.
    this.#start = before.length > 0 ? Math.max(...before.map((at) => Date.parse(at))) + 1 : BEGINNING;
    this.#until = this.#start;
  }

  get done(): boolean {
    return this.#until === BEGINNING;
  }

  /**
   * Looks through the next one. `look` resolves false if it did not come to an end: the next one is that slice again. It is so, a quarter
   * as long, after one that threw, which may have been too long for a statement. Resolves how many milliseconds it took.
   */
  async next(look: (slice: Slice) => Promise<boolean>): Promise<number> {
    this.#spanMs = Math.max(this.#spanMs, LEAST_SPAN_MS, (this.#start - this.#until) * this.#leastShare);
    const from = this.#spanMs > LONGEST_SPAN_MS ? BEGINNING : this.#until - this.#spanMs;
    const startedAt = performance.now();
    let seen: boolean;
    try {
      seen = await look({ from: timeOf(from), until: timeOf(this.#until) });
    } catch (error) {
      this.#spanMs /= 4;
      this.#leastShare /= 4;
      throw error;
    }
    const tookMs = performance.now() - startedAt;
    if (!seen) return tookMs;
    this.#quickestMs = Math.min(this.#quickestMs, tookMs);
    const walkedMs = tookMs - this.#quickestMs;
    if (walkedMs < SLICE_MS / 2) this.#spanMs *= 2;
    if (walkedMs > SLICE_MS * 2) this.#spanMs /= 2;
    this.#until = from;
    return tookMs;
  }
}

function timeOf(ms: number): string {
  return ms === BEGINNING ? '-infinity' : new Date(ms).toISOString();
}
