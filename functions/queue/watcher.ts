import type { Db } from './db.ts';
import { CancelledError, ClaimLostError } from './errors.ts';
import type { InFlight } from './in-flight.ts';
import type { JobId } from './job.ts';
import { watch } from './watch.ts';

/** Milliseconds between two looks, and the age from which an attempt is looked after: short jobs are never asked about. */
export const WATCH_MS = 1_000;

/** While attempts run for longer than a second: reads once a second which of them were cancelled or taken away, and tells them. */
export class Watcher {
  readonly #inFlight: InFlight;
  #lookedAt = 0;

  constructor(inFlight: InFlight) {
    this.#inFlight = inFlight;
  }

  /** Milliseconds until the next look, Infinity while nothing runs. */
  restMs(now: number): number {
    if (this.#inFlight.size === 0) return Infinity;
    return Math.max(0, WATCH_MS - Math.min(this.#inFlight.oldestMs(now), now - this.#lookedAt));
  }

  async look(db: Db): Promise<void> {
    if (this.restMs(performance.now()) > 0) return;
    this.#lookedAt = performance.now();
    const claims = this.#inFlight.claims();
    const { lost, cancelled } = await watch(db, claims);
    const those = (ids: readonly JobId[]) => claims.filter(({ id }) => ids.includes(id));
    this.#inFlight.stop(
      those(lost),
      (id) => new ClaimLostError(`job ${id} was taken away meanwhile: its lease ran out or it was settled`),
    );
    this.#inFlight.stop(those(cancelled), (id) => new CancelledError(`job ${id} was asked to be cancelled`));
  }
}
