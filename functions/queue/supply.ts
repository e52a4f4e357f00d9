import { randomUUID } from 'node:crypto';
import { type Claimed, type ClaimRequest, claim } from './claim.ts';
import { claimFirst, type Lane } from './claim-first.ts';
import { claimSuspect } from './claim-suspect.ts';
import type { Db } from './db.ts';
import type { Emit } from './events.ts';
import type { ClaimedJob } from './job.ts';
import { LostClaims } from './lost-claims.ts';
import type { Kinds } from './marks.ts';
import { failureEvent } from './postgres-error.ts';
import { QueueCursor } from './queue-cursor.ts';
import { releaseTokens } from './release-tokens.ts';
import { type Borrow, transacted } from './rescan-timing.ts';

/**
 * Milliseconds between two claims from a quiet queue that had nothing: its pick-up delay, half of it on average. With the
 * renewals (presence.ts) and the rescan of each half minute (marks.ts), a run that lingers sends fewer than ten statements a second.
 */
export const POLL_MS = 107;
/** Likewise, right after a claim that brought something. */
const LEAST_POLL_MS = 5;

/**
 * Milliseconds until a queue that had nothing is asked again: as long as it has had nothing. Where jobs come all the time, one
 * waits a few milliseconds and not a whole poll (p50 68 ms at 70% load, measured); after a tenth of a second all is as quiet as ever.
 */
export function restAfterNothing(sinceFoundMs: number): number {
  return Math.min(POLL_MS, Math.max(LEAST_POLL_MS, sinceFoundMs));
}

/** Rows that one claim may bring. The server's CPU for 1,000 jobs, claim and settle: 87 ms at 100, 65 at 200, 60 at 500 (measured). */
export const CLAIM_MAX_ROWS = 500;

/** Bytes of payload that one claim may bring: bounds a message and a worker's memory. */
const CLAIM_MAX_BYTES = 4 * 1024 * 1024;

/** One slot of so many, and one at least, is for what a look from the beginning has found, while it is claimed beside the others. */
const RESCAN_SHARE = 10;

/** Given each job at once, before anything else can fail. */
export type Take = (job: ClaimedJob) => void;

/**
 * Brings jobs from the queues that a run serves. Queues take turns at being asked first, each may fill the whole demand,
 * and one that had nothing is left alone for a while: a busy queue cannot starve another, an empty one costs little. All that may be
 * asked are asked in one statement, until one of them has something.
 */
export class Supply {
  readonly #cursors: QueueCursor[];
  readonly #lost = new LostClaims();
  readonly #kinds: Kinds;
  readonly #emit: Emit;
  readonly #borrow: Borrow;
  #reserved = 0;
  /** A step of a look beside the claims is on its way. */
  #besides = false;
  /** Whatever the last claims said. */
  #again = false;

  /** `borrow`: for long looks from the beginning. Default: there is nothing to borrow. */
  constructor(queues: readonly string[], kinds: Kinds, emit: Emit, borrow: Borrow = () => undefined) {
    this.#kinds = kinds;
    this.#emit = emit;
    this.#borrow = borrow;
    this.#cursors = queues.map((queue) => new QueueCursor(queue, kinds));
  }

  /** Every queue's last claim came back empty. */
  get foundNothing(): boolean {
    return !this.#again && this.#cursors.every(({ empty }) => empty);
  }

  /** Slots for what a look from the beginning has found, while the claim of it is on its way beside the others. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Something is on its way beside the claims: a run had better not end. */
  get besides(): boolean {
    return this.#besides;
  }

  /** Every queue is asked at once, whatever its last claim said, or one says that is on the way. */
  askAgain(): void {
    this.#again = true;
    for (const cursor of this.#cursors) {
      cursor.restUntil = 0;
      cursor.lookBackNext();
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
    wanted -= this.#beside({ limit: Math.ceil(wanted / RESCAN_SHARE), kinds }, take);
    for (let turn = this.#inTurn(); turn.length > 0 && wanted > 0; ) {
      const asked = await this.#ask(db, turn, { limit: wanted, kinds }, take);
      const now = performance.now();
      for (const [at, { jobs, suspectDue }] of asked.entries()) {
        const cursor = turn[at] as QueueCursor;
        wanted -= jobs.length;
        cursor.restUntil = cursor.empty ? now + restAfterNothing(now - cursor.foundAt) : 0;
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
    const request = { ...of, token, maxBytes: CLAIM_MAX_BYTES };
    this.#again = false;
    const { asked, jobs, durationMs } = await this.#made(request, claimFrom(db, turn, request));
    jobs.forEach(take);
    for (const [at, claimed] of asked.entries()) turn[at]?.saw(claimed, { ...of, durationMs });
    return asked;
  }

  /** Goes on with a look that is due and long, if there is a connection for it. Answers how many slots what it has found may fill. */
  #beside({ limit, kinds }: { limit: number; kinds: Kinds }, take: Take): number {
    if (limit === 0 || this.#besides) return 0;
    const cursor = this.#cursors.find((one) => one.stepBeside(kinds) !== undefined);
    const step = cursor?.stepBeside(kinds);
    const borrowed = cursor && step && this.#borrow();
    if (!borrowed) {
      cursor?.waitBeside();
      return 0;
    }
    this.#besides = true;
    const claimed = async (lane: Lane) => {
      const request = { ...lane, token: randomUUID(), limit, kinds, maxBytes: CLAIM_MAX_BYTES };
      const one = transacted(borrowed.db, async (session) => [await claim(session, request)]);
      const { asked, jobs } = await this.#made(request, one);
      this.#reserved = 0;
      jobs.forEach(take);
      return asked[0] as Claimed;
    };
    if (step === 'claim') this.#reserved = limit;
    const doing: Promise<unknown> =
      step === 'claim' ? cursor.claimBeside(borrowed.db, claimed) : cursor.lookBeside(borrowed.db);
    void doing
      .catch((error: unknown) => this.#emit(failureEvent('rescan', error)))
      .finally(() => {
        this.#reserved = 0;
        this.#besides = false;
        borrowed.giveBack();
      });
    return this.#reserved;
  }

  /** A job that was reaped twice, to be run with no other in flight. */
  async claimSuspect(db: Db, queue: string, kinds: Kinds, take: Take): Promise<void> {
    const token = randomUUID();
    const cursor = this.#cursors.find((one) => one.queue === queue);
    const from = cursor?.suspectMark ?? null;
    const suspect = await this.#sent(token, claimSuspect(db, { token, queue, kinds, from }));
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
    const seconds = this.#lost.oldestMs(performance.now()) / 1000;
    await releaseTokens(db, tokens, { kinds: this.#kinds, seconds });
    this.#lost.released(tokens);
  }

  /** At a run's end: a last look for lost claims, and what the claims have seen is left to the next run. */
  async leave(db: Db): Promise<void> {
    await this.releaseLost(db, Infinity);
    for (const cursor of this.#cursors) await cursor.publish(db, 'now');
  }

  async #made({ token, limit }: Pick<ClaimRequest, 'token' | 'limit'>, claims: Promise<Claimed[]>) {
    const startedAt = performance.now();
    const asked = await this.#sent(token, claims);
    const durationMs = performance.now() - startedAt;
    const jobs = asked.flatMap((claimed) => claimed.jobs);
    this.#emit({ name: 'claim.made', claimed: jobs.length, wanted: limit, durationMs });
    return { asked, jobs, durationMs };
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
