import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Attempts } from './attempts.ts';
import { reconnectDelay } from './backoff.ts';
import { type Ended, nextBatch, type Written } from './batch.ts';
import type { Bell } from './bell.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Db } from './db.ts';
import type { OnDead } from './on-dead.ts';
import { settle } from './settle.ts';
import type { Supply } from './supply.ts';
import type { Tally } from './tally.ts';

export interface SettlerOptions {
  /** The run's own connection; claims and settlements take turns on it. */
  readonly db: Db;
  /** Of the jobs' transactions. What lies idle of it carries large batches. */
  readonly pool: Pick<ConnectionPool, 'spare' | 'give'>;
  readonly attempts: Attempts;
  readonly tally: Tally;
  /** Asked again when jobs went back, or were put in for those that died. */
  readonly supply: Pick<Supply, 'askAgain'>;
  /** Rung when slots have become free. */
  readonly bell: Pick<Bell, 'ring'>;
  /** The jobs that are put in for those that die. Default none. */
  readonly onDead?: OnDead | undefined;
  onFailure(during: string, error: unknown): void;
  /** The statement was cut short by the run's end. */
  cutShort(error: unknown): boolean;
  /** Aborts when there is no time left for anything. */
  readonly end: AbortSignal;
}

const VERBS: readonly Written['kind'][] = ['complete', 'retry', 'bury', 'release'];
/**
 * Rows from which a batch goes over a connection of its own while the next claim is on the way. Below, taking turns costs less than a
 * second connection, and larger batches gather.
 */
const LARGE = 100;
/** Milliseconds for which the own connection does for all after another one failed: that may be one too many for the server. */
const AFTER_FAILURE_MS = 10_000;

/**
 * Settles attempts as they end, while others are claimed and run. A batch is what gathered while the last one was on the way,
 * so there are no timers, and no attempt is in two statements.
 */
export class Settler {
  readonly #options: SettlerOptions;
  #work: Promise<void> = Promise.resolve();
  #working = false;
  #stopped = false;
  #failures = 0;
  #failure: unknown;
  #ownOnlyUntil = 0;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /** The last try failed. Until one succeeds, jobs that are claimed would only run again. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  /** The database's, if the last try failed by it. */
  get failure(): unknown {
    return this.#failure;
  }

  /** To be called when there is something to settle. */
  wake(): void {
    if (this.#working) return;
    this.#working = true;
    this.#work = this.#settleAll();
  }

  /** Nothing is sent from now on. Resolves when what is on the way is answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work;
  }

  get #over(): boolean {
    return this.#stopped || this.#options.end.aborted;
  }

  async #settleAll(): Promise<void> {
    const { attempts, end } = this.#options;
    while (attempts.unsettled.length > 0 && !this.#over) {
      // Jobs that end without waiting for anything are all in one batch, not only the first of them.
      await setImmediate();
      try {
        await this.#settleEach();
      } catch (error) {
        this.#failures++;
        this.#tell(error);
        await sleep(reconnectDelay(this.#failures), undefined, { signal: end }).catch(() => {});
      }
    }
    this.#working = false;
  }

  /** A batch of each verb. */
  async #settleEach(): Promise<void> {
    const { attempts, tally, supply, bell, onDead } = this.#options;
    for (const verb of VERBS) {
      const batch = nextBatch(attempts.unsettled, verb);
      if (batch.length === 0) continue;
      if (this.#over) return;
      const { settled, blocked } = await this.#connected(batch, (db) => settle(db, batch, onDead));
      this.#failures = 0;
      this.#failure = undefined;
      attempts.settled(batch);
      attempts.setAside(blocked, performance.now());
      for (const one of settled) tally.settled(one);
      if (verb !== 'complete') supply.askAgain();
      bell.ring();
    }
  }

  async #connected<T>({ length }: readonly Ended[], work: (db: Db) => Promise<T>): Promise<T> {
    const { db, pool } = this.#options;
    const spare = length >= LARGE && performance.now() >= this.#ownOnlyUntil ? pool.spare() : undefined;
    if (!spare) return work(db);
    try {
      return await work(spare);
    } catch (error) {
      this.#ownOnlyUntil = performance.now() + AFTER_FAILURE_MS;
      throw error;
    } finally {
      pool.give(spare);
    }
  }

  #tell(error: unknown): void {
    if (this.#options.cutShort(error)) return;
    this.#failure = error;
    this.#options.onFailure('settle', error);
  }
}
