import { ClaimLostError } from './errors.ts';
import type { Claim, ClaimedJob, JobId } from './job.ts';
import { Stopper } from './stopper.ts';

interface Running {
  readonly job: ClaimedJob;
  readonly stopper: Stopper;
  readonly startedAt: number;
}

/** A job reaped so often may take its process with it. */
const SUSPECT_REAPS = 2;

/** The attempts that run now, in the order of their start. */
export class InFlight {
  #running = new Map<JobId, Running>();
  /** Since `#running` was made. */
  #ended = 0;
  // A job that was reaped can be claimed again while its first attempt still runs here.
  readonly #overtaken = new Map<ClaimedJob, Running>();

  get size(): number {
    return this.#running.size + this.#overtaken.size;
  }

  /** A suspect runs: nothing else may. */
  get suspect(): boolean {
    return this.#oldest.some(({ job }) => job.reaps >= SUSPECT_REAPS);
  }

  start(job: ClaimedJob, now: number): Stopper {
    const older = this.#running.get(job.id);
    if (older !== undefined) this.#overtake(older);
    const stopper = new Stopper();
    this.#running.set(job.id, { job, stopper, startedAt: now });
    return stopper;
  }

  end(job: ClaimedJob): void {
    if (this.#running.get(job.id)?.job === job) this.#running.delete(job.id);
    else this.#overtaken.delete(job);
    // V8 chains the tables that a Map has outgrown, with what was in them, and once the first is old only a full collection
    // frees any: so long that each scavenge copied all jobs of its time (docs/decisions/0025). A fresh Map begins no chain.
    if (++this.#ended < 2 * this.#running.size) return;
    this.#running = new Map(this.#running);
    this.#ended = 0;
  }

  /** Of these claims alone: a newer one of the same job runs on. */
  stop(claims: readonly Claim[], reason: (id: JobId) => Error): void {
    for (const { id, token } of claims) {
      const running = this.#running.get(id);
      if (running?.job.token === token) running.stopper.stop(reason(id));
    }
  }

  stopAll(reason: () => Error): void {
    for (const { stopper } of this.#running.values()) stopper.stop(reason());
  }

  /** Milliseconds that the oldest has run, 0 if none does. */
  oldestMs(now: number): number {
    return Math.max(0, ...this.#oldest.map(({ startedAt }) => now - startedAt));
  }

  /** Of those that were not told to stop: no job is in it twice. */
  claims(): Claim[] {
    const claims: Claim[] = [];
    for (const { job, stopper } of this.#running.values()) {
      if (!stopper.reason) claims.push({ id: job.id, token: job.token });
    }
    return claims;
  }

  /** A new claim of the same job says that the older one is lost. */
  #overtake(older: Running): void {
    const { job, stopper } = older;
    this.#running.delete(job.id);
    this.#overtaken.set(job, older);
    stopper.stop(new ClaimLostError(`job ${job.id} was taken away meanwhile and is running again`));
  }

  /** The first of both kinds, as far as there are any. */
  get #oldest(): Running[] {
    const [running] = this.#running.values();
    const [overtaken] = this.#overtaken.values();
    return [running, overtaken].filter((one) => one !== undefined);
  }
}
