import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Attempts } from './attempts.ts';
import { reconnectDelay } from './backoff.ts';
import { nextBatch, type Written } from './batch.ts';
import type { Bell } from './bell.ts';
import type { Db } from './db.ts';
import type { InFlight } from './in-flight.ts';
import type { Kinds } from './marks.ts';
import type { OnDead } from './on-dead.ts';
import type { Phase, Reason, Situation } from './phase.ts';
import { faultOf } from './postgres-error.ts';
import type { Presence } from './presence.ts';
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
  /** Schedules whose fire times are watched for as long as the run claims. Default none. */
  readonly firing?: { restMs(now: number): number; fire(db: Db): Promise<void> } | undefined;
  /** The jobs that are put in for those that die. Default none. */
  readonly onDead?: OnDead | undefined;
  /** Kinds that still fit into the remaining time. */
  kinds(): Kinds;
  /** That it claims, as others see it. Default: nobody looks. */
  readonly presence?: Presence | undefined;
  /** Not asked again once it has answered with a reason; no claim is on the way then. */
  nextPhase(at: Pick<Situation, 'foundNothing' | 'idleMs' | 'refused' | 'fitting'>): Phase;
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
 * settle, watch, tell progress, renew the presence, fire what is scheduled, claim. No timers when busy: a batch is what gathered
 * while the last statement was on the way.
 */
export class Broker {
  readonly #options: BrokerOptions;
  #failures = 0;
  #doing = 'settle';
  #refusal: unknown;
  #suspectQueue: string | undefined;
  /** When it last had something to do. */
  #busyAt = performance.now();

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  /** Resolves when the run has come to its end. `failure`: the database's, if that is why or how it ended. */
  async run(): Promise<{ reason: Reason; failure?: unknown }> {
    const { bell, end } = this.#options;
    let reason: Reason | undefined;
    let failure: unknown;
    for (;;) {
      // Jobs that end without waiting for anything are all in the next settlement, not only the first of them.
      await setImmediate();
      const kinds = this.#options.kinds();
      const phase = reason ?? this.#nextPhase(kinds);
      if (phase !== 'claim' && phase !== 'leave') reason = phase;
      if (end.aborted || (reason && !this.#holds)) return { reason: reason ?? 'deadline', failure };
      const restMs = phase === 'leave' ? 0 : this.#restMs(reason === undefined);
      if (restMs > 0) {
        await bell.sleep(restMs);
        continue;
      }
      try {
        await this.#round(phase, kinds);
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

  #nextPhase(kinds: Kinds): Phase {
    const now = performance.now();
    const busy = this.#busy;
    if (busy) this.#busyAt = now;
    return this.#options.nextPhase({
      foundNothing: this.#options.supply.foundNothing && !busy,
      idleMs: now - this.#busyAt,
      refused: this.#refusal !== undefined,
      fitting: kinds.size,
    });
  }

  /** It has jobs that are not settled. */
  get #holds(): boolean {
    const { attempts, inFlight } = this.#options;
    return inFlight.size > 0 || attempts.unsettled.length > 0 || attempts.waits(performance.now());
  }

  /** It has something to do, or knows of something. */
  get #busy(): boolean {
    return this.#holds || this.#suspectQueue !== undefined;
  }

  async #round(phase: Phase, kinds: Kinds): Promise<void> {
    const { db, supply, watcher, board, presence } = this.#options;
    const busy = this.#busy;
    this.#doing = 'settle';
    await this.#settle();
    this.#doing = 'watch';
    await watcher.look(db);
    this.#doing = 'progress';
    await board.write(db);
    if (phase !== 'claim') {
      this.#doing = 'leave';
      await presence?.clear(db);
      if (phase !== 'leave') return;
      supply.askAgain();
    }
    this.#doing = 'renew';
    await presence?.renew(db, busy);
    if (presence?.relieved) return;
    this.#doing = 'fire';
    await this.#options.firing?.fire(db);
    this.#doing = 'release';
    await supply.releaseLost(db);
    this.#doing = 'claim';
    await this.#claim(kinds).catch((error: unknown) => {
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
    const { attempts, supply, watcher, board, firing, presence } = this.#options;
    if (attempts.unsettled.length > 0 || (!claiming && presence?.present)) return 0;
    const now = performance.now();
    const mayClaim = claiming && this.#freeSlots() > 0;
    const pollMs = this.#suspectQueue === undefined ? supply.restMs(now) : 0;
    const fireMs = claiming && firing ? firing.restMs(now) : Infinity;
    const renewMs = claiming && presence ? presence.restMs(now, this.#busy) : Infinity;
    return Math.min(
      mayClaim ? pollMs : Infinity,
      fireMs,
      renewMs,
      watcher.restMs(now),
      board.restMs(now),
      LONGEST_REST_MS,
    );
  }
}
