import { backoff } from '../../functions/queue/backoff.ts';
import { DEFAULTS } from '../../functions/queue/contract.ts';
import { decide } from '../../functions/queue/decide.ts';
import type { Outcome } from '../../functions/queue/outcome.ts';
import type { World } from './world.ts';

/** How an attempt goes that nothing comes between. */
export const SUCCEEDED: Outcome = { kind: 'succeeded', result: null };
export const STOPPED: Outcome = { kind: 'stopped' };
export const FAILED: Outcome = {
  kind: 'failed',
  error: { attempt: 1, name: 'Error', message: 'simulated' },
  permanent: false,
};

const VERBS = ['complete', 'retry', 'bury', 'release'] as const;
export type Verb = (typeof VERBS)[number];

/** Attempts of a run that have ended and are not settled. What is to be written of each, `decide` says. */
export class Ended {
  readonly #world: World;
  readonly #waiting: Record<Verb, number[]> = { complete: [], retry: [], bury: [], release: [] };
  readonly #delays = new Map<number, number>();
  #sent: number[] = [];
  #size = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** With those that are on their way: they take a place until the database has them. */
  get size(): number {
    return this.#size;
  }

  add(job: number, outcome: Outcome): void {
    const { jobs, profile, random } = this.#world;
    const settlement = decide(outcome, { attempts: jobs.attemptsOf(job), maxAttempts: profile.attempts }, (attempts) =>
      backoff(DEFAULTS.backoff, attempts, random),
    );
    if (settlement.kind === 'none') return;
    if ('delaySeconds' in settlement) this.#delays.set(job, settlement.delaySeconds);
    this.#waiting[settlement.kind].push(job);
    this.#size++;
  }

  /** The verb that is settled next. */
  get verb(): Verb | undefined {
    return VERBS.find((verb) => this.#waiting[verb].length > 0);
  }

  /** Sends all of a verb; `settled` is to be called with the answer. Resolves how many they are. */
  send(verb: Verb): number {
    this.#sent = this.#waiting[verb];
    this.#waiting[verb] = [];
    return this.#sent.length;
  }

  settled(verb: Verb, now: number): void {
    const { jobs } = this.#world;
    for (const job of this.#sent) {
      const dueAt = now + (this.#delays.get(job) ?? 0);
      if (verb === 'complete') jobs.complete(job, now);
      else if (verb === 'bury') jobs.bury(job);
      else {
        this.#delays.delete(job);
        jobs[verb](job, dueAt);
      }
    }
    this.#size -= this.#sent.length;
    this.#sent = [];
  }

  /** All of them, when nobody is there any more to settle them. */
  take(): number[] {
    return [...this.#sent, ...VERBS.flatMap((verb) => this.#waiting[verb])];
  }
}
