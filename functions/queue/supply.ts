import { randomUUID } from 'node:crypto';
import { type Claimed, type ClaimRequest, claim } from './claim.ts';
import { claimFirst, type Lane } from './claim-first.ts';
import { claimSuspect } from './claim-suspect.ts';
import type { Db } from './db.ts';
import type { Emit } from './events.ts';
import type { ClaimedJob } from './job.ts';
import { LostClaims } from './lost-claims.ts';
import type { Kinds } from './marks.ts';
import { QueueCursor } from './queue-cursor.ts';
import { releaseTokens } from './release-tokens.ts';

/**
 * Milliseconds between two claims from a queue that had nothing: the pick-up delay of a quiet queue, half of it on average. With the
 * renewals (presence.ts) and the rescan of each half minute (marks.ts), a run that lingers sends fewer than ten statements a second.
 */
export const POLL_MS = 107;
/** Rows that one claim may bring. The server's CPU for 1,000 jobs, claim and settle: 87 ms at 100, 65 at 200, 60 at 500 (measured). */
export const CLAIM_MAX_ROWS = 200;

/** Bytes of payload that one claim may bring: bounds a message and a worker's memory. */
const CLAIM_MAX_BYTES = 4 * 1024 * 1024;

/** Given each job at once, before anything else can fail. */
export type Take = (job: ClaimedJob) => void;

/**
 * Brings jobs from the queues that a run serves. Queues take turns at being asked first, each may fill the whole demand,
 * and one that had nothing is left alone for 107 ms: a busy queue cannot starve another, an empty one costs little. All that may be
 * asked are asked in one statement, until one of them has something.
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

  /** Every queue is asked at once, whatever its last claim said. */
  askAgain(): void {
    for (const cursor of this.#cursors) {
      cursor.empty = false;
      cursor.restUntil = 0;
    }
  }

  /** Milliseconds until some queue may be asked. */
  restMs(now: number): number {
    return Math.max(0, Math.min(...this.#cursors.map(({ restUntil }) => restUntil)) - now);
  }

  /** Claims up to `limit` jobs. Resolves the queue that has a suspect due, if one said so. */
  async claim(db: Db, { limit, kinds }: { limit: number; kinds: Kinds }, take: Take): Promise<string | undefined> {
    let wanted = Math.min(limit, CLAIM_MAX_ROWS);
    let suspectQueue: string | undefined;
    for (let turn = this.#inTurn(); turn.length > 0 && wanted > 0; ) {
      const asked = await this.#ask(db, turn, { limit: wanted, kinds }, take);
      for (const [at, { jobs, suspectDue }] of asked.entries()) {
        const cursor = turn[at] as QueueCursor;
        wanted -= jobs.length;
        cursor.restUntil = cursor.empty ? performance.now() + POLL_MS : 0;
        if (suspectDue) suspectQueue ??= cursor.queue;
        await cursor.publish(db);
      }
      turn = turn.slice(asked.length);
    }
    return suspectQueue;
  }

  /** One claim: what is due in the first of these that has something. Resolves what was found in each that was asked. */
  async #ask(
    db: Db,
    turn: readonly QueueCursor[],
    of: { limit: number; kinds: Kinds },
    take: Take,
  ): Promise<Claimed[]> {
    const token = randomUUID();
    const startedAt = performance.now();
    const asked = await this.#sent(token, claimFrom(db, turn, { ...of, token, maxBytes: CLAIM_MAX_BYTES }));
    const durationMs = performance.now() - startedAt;
    const jobs = asked.flatMap((claimed) => claimed.jobs);
    this.#emit({ name: 'claim.made', claimed: jobs.length, wanted: of.limit, durationMs });
    jobs.forEach(take);
    for (const [at, claimed] of asked.entries()) turn[at]?.saw(claimed, of);
    return asked;
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

  /** The queues that may be asked now, and those that soon might, so that one statement is for all; who was first goes to the end. */
  #inTurn(): QueueCursor[] {
    const soon = performance.now() + POLL_MS / 2;
    const turn = this.#cursors.filter(({ restUntil }) => restUntil <= soon);
    const first = this.#cursors.shift();
    if (first) this.#cursors.push(first);
    return turn;
  }
}

async function claimFrom(
  db: Db,
  cursors: readonly QueueCursor[],
  request: Omit<ClaimRequest, keyof Lane>,
): Promise<Claimed[]> {
  const lanes: Lane[] = [];
  for (const cursor of cursors) lanes.push(await cursor.lane(db, request));
  const [lane, ...more] = lanes;
  return lane && more.length === 0 ? [await claim(db, { ...request, ...lane })] : claimFirst(db, { ...request, lanes });
}
