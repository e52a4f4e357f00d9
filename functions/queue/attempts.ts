import { bytesOf, type Ended } from './batch.ts';
import type { Bell } from './bell.ts';
import { decide } from './decide.ts';
import { DrainError } from './errors.ts';
import type { InFlight } from './in-flight.ts';
import type { ClaimedJob } from './job.ts';
import type { Outcome } from './outcome.ts';
import type { Stopper } from './stopper.ts';
import type { Tally } from './tally.ts';

export interface AttemptsOptions {
  readonly inFlight: InFlight;
  readonly tally: Tally;
  /** Rung when an attempt has ended. */
  readonly bell: Bell;
  /** Never rejects, see perform.ts. */
  perform(job: ClaimedJob, stopper: Stopper): Promise<Outcome>;
  delaySeconds(kind: string, attempts: number): number;
}

/** Starts claimed jobs, and keeps what is to be written for those that have ended until it is. */
export class Attempts {
  readonly #options: AttemptsOptions;
  #unsettled: Ended[] = [];
  #draining = false;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  get unsettled(): readonly Ended[] {
    return this.#unsettled;
  }

  get draining(): boolean {
    return this.#draining;
  }

  start(job: ClaimedJob): void {
    const { inFlight, tally, perform } = this.#options;
    tally.claimed(job);
    // Its claim was on the way when the drain began: it goes back unstarted.
    if (this.#draining) {
      this.#ended(job, { kind: 'stopped' }, 0);
      return;
    }
    const startedAt = performance.now();
    const stopper = inFlight.start(job, startedAt);
    void perform(job, stopper).then((outcome) => {
      inFlight.end(job);
      this.#ended(job, outcome, performance.now() - startedAt);
    });
  }

  /** Tells every running attempt to stop; what is not finished within the grace goes back with its attempt. */
  drain(why: string): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#options.inFlight.stopAll(() => new DrainError(why));
    this.#options.bell.ring();
  }

  /** The database has taken these in. */
  settled(batch: readonly Ended[]): void {
    const done = new Set(batch);
    this.#unsettled = this.#unsettled.filter((ended) => !done.has(ended));
  }

  #ended(job: ClaimedJob, outcome: Outcome, durationMs: number): void {
    const { tally, bell, delaySeconds } = this.#options;
    const settlement = decide(outcome, job, (attempts) => delaySeconds(job.kind, attempts));
    if (outcome.kind === 'committed') tally.committed(job, durationMs);
    if (outcome.kind === 'lost') tally.overtaken(job);
    if (settlement.kind !== 'none') {
      this.#unsettled.push({ job, settlement, bytes: bytesOf(settlement), durationMs });
    }
    bell.ring();
  }
}
