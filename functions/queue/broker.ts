import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Attempts } from './attempts.ts';
import { reconnectDelay } from './backoff.ts';
import type { Bell } from './bell.ts';
import type { Db } from './db.ts';
import type { InFlight } from './in-flight.ts';
import type { Kinds } from './marks.ts';
import type { Phase, Reason, Situation } from './phase.ts';
import { faultOf } from './postgres-error.ts';
import type { Presence } from './presence.ts';
import type { ProgressBoard } from './progress-board.ts';
import type { Settler } from './settler.ts';
import { CLAIM_MAX_ROWS, type Supply } from './supply.ts';
import type { Watcher } from './watcher.ts';

export interface BrokerOptions {
  /** Its statements take turns with those of others. */
  readonly db: Db;
  readonly concurrency: number;
  /** Jobs in flight that are not this run's. */
  others(): number;
  readonly attempts: Attempts;
  readonly inFlight: InFlight;
  readonly settler: Pick<Settler, 'failing'>;
  readonly supply: Supply;
  readonly watcher: Watcher;
  readonly board: ProgressBoard;
  readonly bell: Bell;
  /** Schedules whose fire times are watched for as long as the run claims. Default none. */
  readonly firing?: { restMs(now: number): number; fire(db: Db): Promise<void> } | undefined;
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

/** Milliseconds. Even with nothing to wait for, the phase (phase.ts) is looked at so often. */
const LONGEST_REST_MS = 1_000;

/**
 * Turns the demand of all free slots into one claim, in rounds: watch, tell progress, renew the presence, fire what is scheduled,
 * claim. What has ended is settled meanwhile (settler.ts). No timers when busy: a claim is for what became free while the last
 * statements were on the way.
 */
export class Broker {
  readonly #options: BrokerOptions;
  #failures = 0;
  #doing = 'watch';
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
      // Slots that become free without waiting for anything are all in the next claim, not only the first of them. With room for a
      // full one as it is, that is on the way while the jobs of the last one run.
      if (!this.#isRoomy) await setImmediate();
      const kinds = this.#options.kinds();
      const phase = reason ?? this.#nextPhase(kinds);
      if (phase !== 'claim' && phase !== 'leave') reason = phase;
      if (end.aborted || (reason && !this.#holds && !this.#options.supply.besides))
        return { reason: reason ?? 'deadline', failure };
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

  /** It has jobs that are not settled, or is about to be given some. */
  get #holds(): boolean {
    const { attempts, inFlight, supply } = this.#options;
    const { size } = inFlight;
    return size > 0 || supply.reserved > 0 || attempts.unsettled.length > 0 || attempts.waits(performance.now());
  }

  /** It has something to do, or knows of something. */
  get #busy(): boolean {
    return this.#holds || this.#suspectQueue !== undefined;
  }

  async #round(phase: Phase, kinds: Kinds): Promise<void> {
    const { db, supply, watcher, board, presence } = this.#options;
    const busy = this.#busy;
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
    const { inFlight, attempts, settler, supply, concurrency, others } = this.#options;
    const unsettled = attempts.unsettled.length;
    const taken = inFlight.size + unsettled + supply.reserved + others();
    if (inFlight.suspect || this.#suspectQueue !== undefined) return taken === 0 ? 1 : 0;
    const free = concurrency - taken;
    // More is about to be free than is: one claim for all costs the database less than two. And what could not be settled runs again.
    return settler.failing || free < Math.min(unsettled, CLAIM_MAX_ROWS) ? 0 : free;
  }

  /** There is room for all that one claim may bring, and the queue may have it. */
  get #isRoomy(): boolean {
    return this.#freeSlots() >= CLAIM_MAX_ROWS && this.#options.supply.restMs(performance.now()) === 0;
  }

  /** Milliseconds until there is something to do; 0: a round is due. */
  #restMs(claiming: boolean): number {
    const { supply, watcher, board, firing, presence } = this.#options;
    if (!claiming && presence?.present) return 0;
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
