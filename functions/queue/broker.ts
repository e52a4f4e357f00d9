import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Attempts } from './attempts.ts';
import { reconnectDelay } from './backoff.ts';
import { nextBatch, type Written } from './batch.ts';
import type { Bell } from './bell.ts';
import type { Db } from './db.ts';
import type { InFlight } from './in-flight.ts';
import type { Kinds } from './marks.ts';
import type { OnDead } from './on-dead.ts';
import type { Reason } from './phase.ts';
import { faultOf } from './postgres-error.ts';
import type { ProgressBoard } from './progress-board.ts';
import { settle } from './settle.ts';
import type { Supply } from './supply.ts';
import type { Tally } from './tally.ts';
import type { Watcher } from './watcher.ts';

export interface BrokerOptions {
  /** Every statement but those of the jobs' transactions goes over this one connection, one at a time. */
  readonly db: Db;
  readonly concurrency: number;
  /** Jobs in flight that are not this run's. */
  others(): number;
  readonly attempts: Attempts;
  readonly inFlight: InFlight;
  readonly supply: Supply;
  readonly watcher: Watcher;
  readonly board: ProgressBoard;
  readonly tally: Tally;
  readonly bell: Bell;
  /** The jobs that are put in for those that die. Default none. */
  readonly onDead?: OnDead | undefined;
  /** Kinds that still fit into the remaining time. */
  kinds(): Kinds;
  /** Not asked again once it has answered with one; no claim is on the way then. */
  reasonToStop(at: { foundNothing: boolean; refused: boolean; fitting: number }): Reason | undefined;
  onFailure(during: string, error: unknown): void;
  /** The statement was cut short by the run's end. */
  cutShort(error: unknown): boolean;
  /** Aborts when there is no time left for anything. */
  readonly end: AbortSignal;
}

const VERBS: readonly Written['kind'][] = ['complete', 'retry', 'bury', 'release'];
/** Milliseconds. Even with nothing to wait for, the phase (phase.ts) is looked at so often. */
const LONGEST_REST_MS = 1_000;

/**
 * Turns the demand of all free slots into one claim, and all attempts that ended meanwhile into one settlement, in rounds:
 * settle, watch, tell progress, claim. No timers when busy: a batch is what gathered while the last statement was on the
 * way.
 */
export class Broker {
  readonly #options: BrokerOptions;
  #failures = 0;
  #doing = 'settle';
  #refusal: unknown;
  #suspectQueue: string | undefined;

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  /** Resolves when the run has come to its end. `failure`: the database's, if that is why or how it ended. */
  async run(): Promise<{ reason: Reason; failure?: unknown }> {
    const { attempts, inFlight, bell, end } = this.#options;
    let reason: Reason | undefined;
    let failure: unknown;
    for (;;) {
      // Jobs that end without waiting for anything are all in the next settlement, not only the first of them.
      await setImmediate();
      const kinds = this.#options.kinds();
      reason ??= this.#reasonToStop(kinds);
      const idle = inFlight.size === 0 && attempts.unsettled.length === 0 && !attempts.waits(performance.now());
      if (end.aborted || (reason && idle)) return { reason: reason ?? 'deadline', failure };
      const restMs = this.#restMs(reason === undefined);
      if (restMs > 0) {
        await bell.sleep(restMs);
        continue;
      }
      try {
        await this.#round(reason === undefined ? kinds : undefined);
        this.#failures = 0;
        failure = this.#refusal;
      } catch (error) {
        if (!this.#options.cutShort(error)) {
          failure = error;
          this.#options.onFailure(this.#doing, error);
        }
        await sleep(reconnectDelay(++this.#failures), undefined, { signal: end }).catch(() => {});
      }
    }
  }

  #reasonToStop(kinds: Kinds): Reason | undefined {
    const foundNothing = this.#options.supply.foundNothing && this.#suspectQueue === undefined;
    return this.#options.reasonToStop({ foundNothing, refused: this.#refusal !== undefined, fitting: kinds.size });
  }

  async #round(claimable: Kinds | undefined): Promise<void> {
    const { db, supply, watcher, board } = this.#options;
    this.#doing = 'settle';
    await this.#settle();
    this.#doing = 'watch';
    await watcher.look(db);
    this.#doing = 'progress';
    await board.write(db);
    if (!claimable) return;
    this.#doing = 'release';
    await supply.releaseLost(db);
    this.#doing = 'claim';
    await this.#claim(claimable).catch((error: unknown) => {
      const fault = faultOf(error);
      if (fault === 'lost' || fault === 'repeat') throw error;
      // No time mends this: running jobs are finished and settled, and the run says why it ended.
      this.#refusal = error;
      this.#options.onFailure(this.#doing, error);
    });
  }

  async #settle(): Promise<void> {
    const { db, attempts, tally, onDead } = this.#options;
    for (const verb of VERBS) {
      const batch = nextBatch(attempts.unsettled, verb);
      if (batch.length === 0) continue;
      const { settled, blocked } = await settle(db, batch, onDead);
      attempts.settled(batch);
      attempts.setAside(blocked, performance.now());
      for (const one of settled) tally.settled(one);
    }
  }

  /** Once a claim has told of a suspect, nothing else is claimed until all is quiet and the suspect has had its turn. */
  async #claim(kinds: Kinds): Promise<void> {
    const { db, supply, attempts } = this.#options;
    const free = this.#freeSlots();
    const take = attempts.start.bind(attempts);
    if (this.#suspectQueue === undefined) {
      if (free > 0) this.#suspectQueue = await supply.claim(db, { limit: free, kinds }, take);
    } else if (free > 0) {
      await supply.claimSuspect(db, this.#suspectQueue, kinds, take);
      this.#suspectQueue = undefined;
    }
  }

  #freeSlots(): number {
    const { inFlight, attempts, concurrency, others } = this.#options;
    const taken = inFlight.size + attempts.unsettled.length + others();
    if (inFlight.suspect || this.#suspectQueue !== undefined) return taken === 0 ? 1 : 0;
    return concurrency - taken;
  }

  /** Milliseconds until there is something to do; 0: a round is due. */
  #restMs(claiming: boolean): number {
    const { attempts, supply, watcher, board } = this.#options;
    if (attempts.unsettled.length > 0) return 0;
    const now = performance.now();
    const mayClaim = claiming && this.#freeSlots() > 0;
    const pollMs = this.#suspectQueue === undefined ? supply.restMs(now) : 0;
    return Math.min(mayClaim ? pollMs : Infinity, watcher.restMs(now), board.restMs(now), LONGEST_REST_MS);
  }
}
