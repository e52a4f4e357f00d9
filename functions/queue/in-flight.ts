import { ClaimLostError } from './errors.ts';
import type { Claim, ClaimedJob, JobId } from './job.ts';
import { Stopper } from './stopper.ts';

interface Running {
  readonly stopper: Stopper;
  readonly startedAt: number;
}

/** A job reaped so often may take its process with it. */
const SUSPECT_REAPS = 2;

/** The attempts that run now, in the order of their start. */
export class InFlight {
  // By attempt, not by id: a job that was reaped can be claimed again while its first attempt still runs here.
  readonly #running = new Map<ClaimedJob, Running>();

  get size(): number {
    return this.#running.size;
  }

  /** A suspect runs: nothing else may. */
  get suspect(): boolean {
    const [first] = this.#running.keys();
    return first !== undefined && first.reaps >= SUSPECT_REAPS;
  }

  start(job: ClaimedJob, now: number): Stopper {
    // A new claim of the same job says that the older one is lost.
    this.stop([job.id], (id) => new ClaimLostError(`job ${id} was taken away meanwhile and is running again`));
    const stopper = new Stopper();
    this.#running.set(job, { stopper, startedAt: now });
    return stopper;
  }

  end(job: ClaimedJob): void {
    this.#running.delete(job);
  }

  stop(ids: readonly JobId[], reason: (id: JobId) => Error): void {
    if (ids.length === 0 || this.#running.size === 0) return;
    for (const [{ id }, { stopper }] of this.#running) if (ids.includes(id)) stopper.stop(reason(id));
  }

  stopAll(reason: () => Error): void {
    for (const { stopper } of this.#running.values()) stopper.stop(reason());
  }

  /** Milliseconds that the oldest has run, 0 if none does. */
  oldestMs(now: number): number {
    const [first] = this.#running.values();
    return first ? now - first.startedAt : 0;
  }

  /** Of those that were not told to stop: no job is in it twice. */
  claims(): Claim[] {
    const claims: Claim[] = [];
    for (const [{ id, token }, { stopper }] of this.#running) if (!stopper.reason) claims.push({ id, token });
    return claims;
  }
}
