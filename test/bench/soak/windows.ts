import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

export const WINDOW_SECONDS = 10;

/** What jobs waited until their start, by the time of their start, ten seconds at a time. */
export class Windows {
  readonly #beginsAt: number;
  readonly #windows: RecordableHistogram[];
  readonly #seconds: number;

  /** `beginsAt` in milliseconds since the epoch. The last window is shorter if it has to be. */
  constructor(beginsAt: number, seconds: number, windowSeconds = WINDOW_SECONDS) {
    this.#beginsAt = beginsAt;
    this.#seconds = windowSeconds;
    this.#windows = Array.from({ length: Math.ceil(seconds / windowSeconds) }, () => createHistogram());
  }

  /** What began outside of all windows is left out. */
  add(startedAt: number, waitedMs: number): void {
    const window = this.#windows[Math.floor((startedAt - this.#beginsAt) / 1000 / this.#seconds)];
    // Whole microseconds, and 1 at least: clocks of two processes may be apart by more than a short wait.
    window?.record(Math.max(1, Math.round(waitedMs * 1000)));
  }

  get length(): number {
    return this.#windows.length;
  }

  /** Jobs that began within it, and their waits; null where none began. */
  at(window: number): { begun: number; p50Ms: number | null; p99Ms: number | null } {
    const histogram = this.#windows[window] ?? createHistogram();
    return { begun: histogram.count, p50Ms: percentile(histogram, 50), p99Ms: percentile(histogram, 99) };
  }

  /** 99 of 100 jobs that began in these windows waited no longer; null if none began. */
  p99Ms(from: number, to: number): number | null {
    const together = createHistogram();
    for (const histogram of this.#windows.slice(from, to)) together.add(histogram);
    return percentile(together, 99);
  }
}

function percentile(histogram: RecordableHistogram, share: number): number | null {
  return histogram.count === 0 ? null : histogram.percentile(share) / 1000;
}
