import { randomUUID } from 'node:crypto';
import { claimSuspect } from './claim-suspect.ts';
import type { Db } from './db.ts';
import type { Emit } from './events.ts';
import type { ClaimedJob } from './job.ts';
import { LostClaims } from './lost-claims.ts';
import type { Kinds } from './marks.ts';
import { QueueCursor } from './queue-cursor.ts';
import { releaseTokens } from './release-tokens.ts';

/** Milliseconds between two claims from a queue that had nothing. It is the pick-up delay of a quiet queue, half of it on average. */
const POLL_MS = 100;
/** Rows that one claim may bring. The server's CPU for 1,000 jobs, claim and settle: 87 ms at 100, 65 at 200, 60 at 500 (measured). */
const CLAIM_MAX_ROWS = 200;

/** Given each job at once, before anything else can fail. */
export type Take = (job: ClaimedJob) => void;

/**
 * Brings jobs from the queues that a run serves. Queues take turns at being asked first, each may fill the whole demand,
 * and one that had nothing is left alone for 100 ms: a busy queue cannot starve another, an empty one costs little.
 */
export class Supply {
  readonly #cursors: QueueCursor[];
  readonly #lost = new LostClaims();
  readonly #emit: Emit;

  constructor(queues: readonly string[], kinds: Kinds, emit: Emit) {
    this.#emit = emit;
    this.#cursors = queues.map((queue) => new QueueCursor(queue, kinds));
  }

  /** Every queue's last claim came back empty. */
  get foundNothing(): boolean {
    return this.#cursors.every(({ empty }) => empty);
  }

  /** Milliseconds until some queue may be asked. */
  restMs(now: number): number {
    return Math.max(0, Math.min(...this.#cursors.map(({ restUntil }) => restUntil)) - now);
  }

  /** Claims up to `limit` jobs. Resolves the queue that has a suspect due, if one said so. */
  async claim(db: Db, { limit, kinds }: { limit: number; kinds: Kinds }, take: Take): Promise<string | undefined> {
    let wanted = Math.min(limit, CLAIM_MAX_ROWS);
    let suspectQueue: string | undefined;
    for (const cursor of this.#inTurn()) {
      if (wanted === 0) break;
      const token = randomUUID();
      const startedAt = performance.now();
      const claimed = await this.#sent(token, cursor.claim(db, { token, limit: wanted, kinds }));
      const durationMs = performance.now() - startedAt;
      this.#emit({ name: 'claim.made', claimed: claimed.jobs.length, wanted, durationMs });
      claimed.jobs.forEach(take);
      wanted -= claimed.jobs.length;
      if (cursor.empty) cursor.restUntil = performance.now() + POLL_MS;
      if (claimed.suspectDue) suspectQueue ??= cursor.queue;
      await cursor.publish(db);
    }
    return suspectQueue;
  }

  /** A job that was reaped twice, to be run with no other in flight. */
  async claimSuspect(db: Db, queue: string, kinds: Kinds, take: Take): Promise<void> {
    const token = randomUUID();
    const suspect = await this.#sent(token, claimSuspect(db, { token, queue, kinds }));
    const cursor = this.#cursors.find((one) => one.queue === queue);
    // There may be more of them, so what the last claim found says nothing any more.
    if (cursor) cursor.empty = false;
    if (!suspect) return;
    if (cursor) cursor.restUntil = 0;
    take(suspect);
  }

  /** Gives back the rows of claims whose answer was lost, attempt included. To be called before each claim. */
  async releaseLost(db: Db, now = performance.now()): Promise<void> {
    const tokens = this.#lost.due(now);
    if (tokens.length === 0) return;
    await releaseTokens(db, tokens);
    this.#lost.released(tokens);
  }

  /** At a run's end: a last look for lost claims, and what the claims have seen is left to the next run. */
  async leave(db: Db): Promise<void> {
    await this.releaseLost(db, Infinity);
    for (const cursor of this.#cursors) await cursor.publish(db, 'now');
  }

  /** However a claim failed: releasing a token that no row has is harmless. */
  async #sent<T>(token: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      this.#lost.add(token, performance.now());
      throw error;
    }
  }

  /** The queues that may be asked now; who was first goes to the end. */
  #inTurn(): QueueCursor[] {
    const now = performance.now();
    const turn = this.#cursors.filter(({ restUntil }) => restUntil <= now);
    const first = this.#cursors.shift();
    if (first) this.#cursors.push(first);
    return turn;
  }
}
