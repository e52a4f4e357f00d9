/** Durations below this are one: a tenth of a millisecond. */
const LEAST = 1e-4;
/** Width of a bar: percentiles are right within one per cent. */
const WIDTH = Math.log(1.01);

/** How long things took, in seconds, in little memory however many they are. */
export class Histogram {
  readonly #bars = new Float64Array(3000);
  #count = 0;
  #most = 0;

  get count(): number {
    return this.#count;
  }

  get most(): number {
    return this.#most;
  }

  add(seconds: number): void {
    const bar = seconds <= LEAST ? 0 : Math.ceil(Math.log(seconds / LEAST) / WIDTH);
    const at = Math.min(bar, this.#bars.length - 1);
    this.#bars[at] = (this.#bars[at] as number) + 1;
    this.#count++;
    if (seconds > this.#most) this.#most = seconds;
  }

  /** Seconds within which that share of them was. NaN: there were none. */
  within(share: number): number {
    if (this.#count === 0) return Number.NaN;
    let left = Math.ceil(share * this.#count);
    for (const [bar, count] of this.#bars.entries()) {
      left -= count;
      if (left <= 0) return Math.min(this.#most, LEAST * Math.exp(bar * WIDTH));
    }
    return this.#most;
  }
}
