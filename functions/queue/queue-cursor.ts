import { earlier } from './advance.ts';
import { AgedShare } from './aged-share.ts';
import { type Claimed, LOOK_BACK_MS } from './claim.ts';
import type { Lane } from './claim-first.ts';
import { closeHeld } from './close-held.ts';
import type { Db } from './db.ts';
import { LookBehind } from './look-behind.ts';
import { type Kinds, openPosition, type Position, publish, rescan, takeBeside } from './marks.ts';
import { RescanTiming } from './rescan-timing.ts';

/** One of a run's queues: how far its claims have seen. */
export class QueueCursor {
  readonly queue: string;
  /** Not asked before: milliseconds of the monotonic clock. */
  restUntil = 0;
  /** The last claim brought nothing; false before the first. */
  empty = false;
  /** When a claim last brought something, by the same clock. */
  foundAt = -Infinity;
  readonly #kinds: Kinds;
  #position: Position | undefined;
  /** Near a run's end fewer kinds fit. What they see must not be taken for what all kinds have seen, so it is kept apart. */
  #narrowed: Position | undefined;
  #rescanDue = false;
  #publishDue = false;
  /** The claim to come begins at the beginning, or the last one did. */
  #closeDue = false;
  readonly #share = new AgedShare();
  /** What the claim on its way was told to take of the oldest. */
  #aged = 0;
  /** When it last looked back over the grace: milliseconds of the monotonic clock. */
  #graceAt = -Infinity;
  readonly #timing: RescanTiming;
  /** The look beside the claims that is under way. */
  #look: LookBehind | undefined;
  /** Since when its next step has waited for a connection: milliseconds of the monotonic clock. */
  #waitsSince: number | undefined;
  /** What a look beside the claims has seen, or a claim of what it found. */
  #seenBeside: Seen | undefined;

  /** `look`: when it is looked through from the beginning. Default: as for a run that has not done so yet. */
  constructor(queue: string, kinds: Kinds, timing = new RescanTiming()) {
    this.queue = queue;
    this.#timing = timing;
    this.#kinds = kinds;
  }

  /** What is to be asked of this queue. `kinds` must be those of the constructor or, from some time on, fewer. */
  async lane(db: Db, { limit, kinds }: { limit: number; kinds: Kinds }): Promise<Lane> {
    const position = this.#isNarrow(kinds) ? await this.#narrowedPosition(db) : await this.#lookedBack(db);
    const soon = performance.now() - this.#graceAt < LOOK_BACK_MS;
    this.#aged = this.#share.of(limit, { soon });
    return { queue: this.queue, aged: this.#aged, position, soon };
  }

  /** To be called with what was found in it. */
  saw(claimed: Claimed, { limit, kinds, durationMs = 0 }: { limit: number; kinds: Kinds; durationMs?: number }): void {
    if (this.#publishDue) this.#timing.took(durationMs, performance.now());
    this.#share.claimed(limit, this.#aged);
    this.empty = claimed.jobs.length === 0;
    if (!this.empty) this.foundAt = performance.now();
    if (!claimed.near) this.#graceAt = performance.now() - durationMs;
    this.#rescanDue = claimed.rescanDue;
    if (this.#isNarrow(kinds)) this.#narrowed = claimed.position;
    else this.#position = claimed.position;
  }

  /** The next claim looks back over the whole grace: nobody may do so for long after it. */
  lookBackNext(): void {
    this.#graceAt = -Infinity;
  }

  /** From where a suspect may be due; null: from the beginning. */
  get suspectMark(): string | null {
    return this.#position?.suspectMark ?? null;
  }

  #isNarrow(kinds: Kinds): boolean {
    return kinds.size < this.#kinds.size;
  }

  async #opened(db: Db): Promise<Position> {
    this.#position ??= this.#lookingFrom(await openPosition(db, this.queue, this.#kinds));
    return this.#position;
  }

  async #lookedBack(db: Db): Promise<Position> {
    const position = await this.#opened(db);
    if (this.#seenBeside) {
      this.#position = backTo(position, this.#seenBeside);
      this.#seenBeside = undefined;
      // What said so since then did not know of the look.
      this.#rescanDue = false;
      return this.#position;
    }
    if (!this.#rescanDue) return position;
    await this.#timing.estimate(db);
    if (!this.#timing.mayBeBetween(performance.now())) return position;
    this.#position = this.#lookingFrom(await rescan(db, this.queue, this.#kinds, position));
    this.#rescanDue = false;
    this.#publishDue = true;
    return this.#position;
  }

  /**
   * What is to be done on a connection of its own, while claims go on from their marks: the next slice of a look that is so long that
   * they had better not wait for it, or a claim of what it has found.
   */
  stepBeside(kinds: Kinds): 'look' | 'claim' | undefined {
    if (this.#position === undefined || this.#isNarrow(kinds)) return undefined;
    const now = performance.now();
    if (!this.#look) return this.#rescanDue && this.#timing.mayBeBeside(now) ? 'look' : undefined;
    if (this.#look.done) return 'claim';
    return now >= this.#look.restUntil ? 'look' : undefined;
  }

  /** Begins a look, or goes on with it. Resolves whether it has come to its end. */
  lookBeside(db: Db): Promise<boolean> {
    return this.#beside(async (from) => {
      if (!this.#look) {
        this.#timing.begins();
        const { taken, rescannedAt } = await takeBeside(db, this.queue, this.#kinds);
        if (!taken) {
          this.#seenBeside = { rescannedAt };
          this.#timing.leftToOthers();
          return true;
        }
        this.#look = new LookBehind({ queue: this.queue, kinds: this.#kinds, until: from.marks, rescannedAt });
      }
      const look = this.#look;
      if (!look.done) await look.next(db);
      if (look.done && !look.foundSome) await this.#sawBeside(db, look, { rescannedAt: look.options.rescannedAt });
      return look.done;
    });
  }

  /** Takes what a look has found. Claims go back to where this one came to only if it did not get to the end of what is due. */
  claimBeside(db: Db, claim: (lane: Lane) => Promise<Claimed>): Promise<void> {
    return this.#beside(async (from) => {
      const look = this.#look as LookBehind;
      const startedAt = performance.now();
      const { rescannedAt } = look.options;
      const position = { ...from, rescannedAt, marks: look.found, near: null, suspectMark: null };
      await publish(db, this.queue, this.#kinds, position, { back: true });
      const claimed = await claim({ queue: this.queue, aged: 0, position });
      if (claimed.jobs.length > 0) this.restUntil = 0;
      await closeHeld(db, this.queue, this.#kinds, claimed.position.marks);
      look.walkedMs += performance.now() - startedAt;
      await this.#sawBeside(db, look, claimed.position);
    });
  }

  /** There is no connection for the next step: after a second without one the look is given up. */
  waitBeside(): void {
    const now = performance.now();
    this.#waitsSince ??= now;
    if (this.#look && !this.#timing.mayGoOn(now - this.#waitsSince)) this.#look = undefined;
  }

  async #beside<T>(step: (from: Position) => Promise<T>): Promise<T> {
    this.#waitsSince = undefined;
    try {
      return await step(this.#position as Position);
    } catch (error) {
      this.#look = undefined;
      this.#timing.failed(performance.now());
      throw error;
    }
  }

  async #sawBeside(db: Db, { walkedMs }: LookBehind, seen: Seen): Promise<void> {
    this.#look = undefined;
    this.#seenBeside = seen;
    this.#timing.ended(walkedMs, performance.now());
    await publish(db, this.queue, this.#kinds, { ...(this.#position as Position), ...seen });
  }

  /** One worker of all is given the beginning, each half minute: what is to be done once is done by that one. */
  #lookingFrom(position: Position): Position {
    this.#closeDue = position.marks.every((mark) => mark === null);
    return position;
  }

  /** It looks back as the wider one does, but has nothing to publish: others look for themselves until one of them has. */
  async #narrowedPosition(db: Db): Promise<Position> {
    const position = this.#narrowed ?? (await this.#opened(db));
    return this.#rescanDue ? rescan(db, this.queue, this.#kinds, position) : position;
  }

  /** To be called after each claim, when its jobs are safe, and at the run's end with `now`. */
  async publish(db: Db, when: 'due' | 'now' = 'due'): Promise<void> {
    if (this.#position && this.#closeDue) await closeHeld(db, this.queue, this.#kinds, this.#position.marks);
    this.#closeDue = false;
    if (!this.#position || (when === 'due' && !this.#publishDue)) return;
    // A look that is not at its end ends with the run; what the claims have seen since it began is seen all the same.
    const { rescannedAt } = this.#look?.options ?? this.#position;
    await publish(db, this.queue, this.#kinds, { ...this.#position, rescannedAt });
    this.#publishDue = false;
  }
}

/** Where claims go back to; with no marks they stay where they are. */
type Seen = Pick<Position, 'rescannedAt'> & Partial<Pick<Position, 'marks' | 'suspectMark'>>;

function backTo(position: Position, { rescannedAt, marks, suspectMark }: Seen): Position {
  if (!marks) return { ...position, rescannedAt };
  return {
    ...position,
    rescannedAt,
    marks: position.marks.map((mark, i) => earlier(mark, marks[i] ?? null)),
    near: null,
    suspectMark: earlier(position.suspectMark, suspectMark ?? null),
  };
}
