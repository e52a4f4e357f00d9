import { bytesOf, type Ended } from './batch.ts';
import type { Bell } from './bell.ts';
import { decide } from './decide.ts';
import { DrainError } from './errors.ts';
import type { InFlight } from './in-flight.ts';
import type { ClaimedJob } from './job.ts';
import type { JobSeconds } from './job-seconds.ts';
import type { Outcome } from './outcome.ts';
import type { Stopper } from './stopper.ts';
import type { Tally } from './tally.ts';

export interface AttemptsOptions {
  readonly inFlight: InFlight;
  readonly tally: Tally;
  readonly jobSeconds?: JobSeconds | undefined;
  /** Rung when an attempt has ended. */
  readonly bell: Pick<Bell, 'ring'>;
  /** Never rejects, see perform.ts. */
  perform(job: ClaimedJob, stopper: Stopper): Promise<Outcome>;
  delaySeconds(kind: string, attempts: number): number;
  /** Whether the run has the time for another statement that may have to wait. */
  timeToWait(): boolean;
}

/** Milliseconds after which a job is settled again whose row somebody held. */
const SET_ASIDE_MS = 1_000;
/** Milliseconds that a run stays open for such a job; then its lease runs out, and it runs again. */
const WAIT_MS = 30_000;

/** Starts claimed jobs, and keeps what is to be written for those that have ended until it is. */
export class Attempts {
  readonly #options: AttemptsOptions;
  #unsettled: Ended[] = [];
  /** Since when each was blocked. */
  readonly #aside = new Map<Ended, number>();
  readonly #blockedSince = new WeakMap<Ended, number>();
  #draining = false;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** What is to be written now. */
  get unsettled(): readonly Ended[] {
    return this.#unsettled;
  }

  /** Some are aside, and have not been for too long: a run does not end without them. They take no slot. */
  waits(now: number): boolean {
    return [...this.#aside.values()].some((since) => since > now - WAIT_MS);
  }

  get draining(): boolean {
    return this.#draining;
  }

  start(job: ClaimedJob): void {
    const { inFlight, tally, perform } = this.#options;
    tally.claimed(job);
    // Its claim was on the way when the drain began: it goes back unstarted.
    if (this.#draining) {
      this.#ended(job, { kind: 'stopped' });
      return;
    }
    const startedAt = performance.now();
    void perform(job, inFlight.start(job, startedAt)).then((outcome) => {
      inFlight.end(job);
      this.#ended(job, outcome, startedAt);
    });
  }

  /** Tells every running attempt to stop; what is not finished within the grace goes back with its attempt. */
  drain(why: string): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#options.inFlight.stopAll(() => new DrainError(why));
    this.#options.bell.ring();
  }

  /** Somebody holds their rows: they are brought back in a second, so that they do not slow each batch until then. */
  setAside(blocked: readonly Ended[], now: number): void {
    if (blocked.length === 0) return;
    for (const ended of blocked) {
      const since = this.#blockedSince.get(ended) ?? now;
      this.#blockedSince.set(ended, since);
      this.#aside.set(ended, since);
    }
    setTimeout(() => {
      // What is sent and not waited for could still be carried out, whatever the summary says of it.
      if (!this.#options.timeToWait()) return;
      for (const ended of blocked) this.#aside.delete(ended);
      this.#unsettled.push(...blocked);
      this.#options.bell.ring();
    }, SET_ASIDE_MS).unref();
  }

  /** The database has taken these in. */
  settled(batch: readonly Ended[]): void {
    const done = new Set(batch);
    for (const ended of batch) if (!this.#blockedSince.has(ended)) this.#leavesPlace(ended.startedAt);
    this.#unsettled = this.#unsettled.filter((ended) => !done.has(ended));
  }

  /** `startedAt`: undefined if it was not even started. */
  #ended(job: ClaimedJob, outcome: Outcome, startedAt?: number): void {
    const { tally, bell, delaySeconds } = this.#options;
    const durationMs = startedAt === undefined ? 0 : performance.now() - startedAt;
    const settlement = decide(outcome, job, (attempts) => delaySeconds(job.kind, attempts));
    if (outcome.kind === 'committed') tally.committed(job, durationMs);
    if (outcome.kind === 'lost') tally.overtaken(job);
    if (settlement.kind === 'none') {
      this.#leavesPlace(startedAt);
    } else {
      this.#unsettled.push({ job, settlement, bytes: bytesOf(settlement, job.payload), startedAt, durationMs });
    }
    bell.ring();
  }

  #leavesPlace(startedAt: number | undefined): void {
    if (startedAt !== undefined) this.#options.jobSeconds?.add(performance.now() - startedAt);
  }
}
