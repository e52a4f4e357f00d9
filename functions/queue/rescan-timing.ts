import type { Db } from './db.ts';
import type { SteadyConnection } from './steady-connection.ts';

/** A connection that lies idle, for a while; undefined if none does. */
export type Borrow = () => { readonly db: SteadyConnection; giveBack(): void } | undefined;

/**
 * Milliseconds from which a look from the beginning is too long to be made between two claims. It is that long only where the
 * vacuum horizon is pinned, or rows of other kinds lie there: a fifth to half a second for each million of them (measured).
 */
const LONG_MS = 50;
/** Of the claim index, from which the first look of a run is taken for long: some 200,000 entries. */
const LONG_BYTES = 8 * 1024 * 1024;
/** A long look is followed by this many times the time of its statements without one: it costs a core a twentieth at most. */
const REST = 20;
/** Milliseconds without one at most, after one beside the claims: a rescan also says that there is a worker (readiness.ts, two minutes). */
const LONGEST_REST_MS = 60_000;
/** Milliseconds for which a long look that is due waits for a connection. After that it is made between two claims. */
const PATIENCE_MS = 1_000;
/** Milliseconds until the next try after a look that failed. */
const AFTER_FAILURE_MS = 10_000;

const SIZE = `SELECT pg_relation_size('millrace.live_jobs_claim')::float8 AS bytes`;

/** When a queue may be looked through from the beginning, and whether beside the claims or between two of them. */
export class RescanTiming {
  /** Undefined before the first. */
  #long: boolean | undefined;
  #notBefore = 0;
  #looking = false;
  #dueSince: number | undefined;

  /** To be called before the others, when a look is due. */
  async estimate(db: Db): Promise<void> {
    if (this.#long !== undefined) return;
    const { rows } = await db.query<{ bytes: number }>(SIZE);
    this.#long = (rows[0]?.bytes ?? 0) > LONG_BYTES;
  }

  /** Of a look that is due and long. */
  mayBeBeside(now: number): boolean {
    return this.#long === true && this.#mayBegin(now);
  }

  /** Of a look that is due. */
  mayBeBetween(now: number): boolean {
    return this.#mayBegin(now) && (!this.#long || now - (this.#dueSince ?? now) > PATIENCE_MS);
  }

  /** One was made, and took so long. */
  took(ms: number, now: number): void {
    this.#dueSince = undefined;
    this.#long = ms > LONG_MS;
    this.#notBefore = this.#long ? now + REST * ms : now;
  }

  /** One begins beside the claims: no other does until it has ended. */
  begins(): void {
    this.#looking = true;
  }

  /** The one beside the claims has ended, and its statements took so long. */
  ended(ms: number, now: number): void {
    this.#looking = false;
    this.took(ms, now);
    this.#notBefore = Math.min(this.#notBefore, now + LONGEST_REST_MS);
  }

  failed(now: number): void {
    this.leftToOthers();
    this.#notBefore = now + AFTER_FAILURE_MS;
  }

  /** Another worker makes it. */
  leftToOthers(): void {
    this.#looking = false;
    this.#dueSince = undefined;
  }

  /** There was no connection to go on with it, for longer than it has patience: the next one is made between two claims. */
  mayGoOn(waitedMs: number): boolean {
    if (waitedMs <= PATIENCE_MS) return true;
    this.#looking = false;
    return false;
  }

  #mayBegin(now: number): boolean {
    if (this.#looking || now < this.#notBefore) return false;
    this.#dueSince ??= now;
    return true;
  }
}

/**
 * `claim` in a transaction that ends with its answer: a run that has to go while it is on the way takes nothing with it, since the
 * server rolls back what was not committed.
 */
export async function transacted<T>(connection: SteadyConnection, claim: (db: Db) => Promise<T>): Promise<T> {
  const session = await connection.session();
  await session.query('BEGIN');
  try {
    const claimed = await claim(session);
    await session.query('COMMIT');
    return claimed;
  } catch (error) {
    if (!session.broken()) await session.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
