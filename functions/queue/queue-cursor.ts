import type { Claimed } from './claim.ts';
import type { Lane } from './claim-first.ts';
import { closeHeld } from './close-held.ts';
import type { Db } from './db.ts';
import { type Kinds, openPosition, type Position, publish, rescan } from './marks.ts';

/** One row of so many goes to the oldest due whatever its priority, so that nothing starves. */
const AGED_EVERY = 10;

/** One of a run's queues: how far its claims have seen. */
export class QueueCursor {
  readonly queue: string;
  /** Not asked before: milliseconds of the monotonic clock. */
  restUntil = 0;
  /** The last claim brought nothing; false before the first. */
  empty = false;
  readonly #kinds: Kinds;
  #position: Position | undefined;
  /** Near a run's end fewer kinds fit. What they see must not be taken for what all kinds have seen, so it is kept apart. */
  #narrowed: Position | undefined;
  #rescanDue = false;
  #publishDue = false;
  /** The claim to come begins at the beginning, or the last one did. */
  #closeDue = false;
  #agedCarry = 0;

  constructor(queue: string, kinds: Kinds) {
    this.queue = queue;
    this.#kinds = kinds;
  }

  /** What is to be asked of this queue. `kinds` must be those of the constructor or, from some time on, fewer. */
  async lane(db: Db, { limit, kinds }: { limit: number; kinds: Kinds }): Promise<Lane> {
    const position = this.#isNarrow(kinds) ? await this.#narrowedPosition(db) : await this.#lookedBack(db);
    return { queue: this.queue, aged: this.#agedShare(limit), position };
  }

  /** To be called with what was found in it. */
  saw(claimed: Claimed, { limit, kinds }: { limit: number; kinds: Kinds }): void {
    this.#agedCarry = (this.#agedCarry + limit) % AGED_EVERY;
    this.empty = claimed.jobs.length === 0;
    this.#rescanDue = claimed.rescanDue;
    if (this.#isNarrow(kinds)) this.#narrowed = claimed.position;
    else this.#position = claimed.position;
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
    if (!this.#rescanDue) return position;
    this.#position = this.#lookingFrom(await rescan(db, this.queue, this.#kinds, position));
    this.#rescanDue = false;
    this.#publishDue = true;
    return this.#position;
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
    await publish(db, this.queue, this.#kinds, this.#position);
    this.#publishDue = false;
  }

  /** A tenth of each claim, and of many small ones every tenth row. */
  #agedShare(limit: number): number {
    return Math.min(Math.floor((this.#agedCarry + limit) / AGED_EVERY), limit);
  }
}
