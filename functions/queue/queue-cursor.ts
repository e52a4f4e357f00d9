import { type Claimed, claim } from './claim.ts';
import { closeHeld } from './close-held.ts';
import type { Db } from './db.ts';
import { type Kinds, openPosition, type Position, publish, rescan } from './marks.ts';

/** Bytes of payload that one claim may bring: bounds a message and a worker's memory. */
const CLAIM_MAX_BYTES = 4 * 1024 * 1024;
/** One row of so many goes to the oldest due whatever its priority, so that nothing starves. */
const AGED_EVERY = 10;

/** Claims from one queue, and keeps how far they have seen. */
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

  /** `kinds` must be those of the constructor or, from some time on, fewer. */
  async claim(db: Db, { token, limit, kinds }: { token: string; limit: number; kinds: Kinds }): Promise<Claimed> {
    const { queue } = this;
    const narrow = kinds.size < this.#kinds.size;
    const position = narrow ? await this.#narrowedPosition(db) : await this.#lookedBack(db);
    const aged = this.#agedShare(limit);
    const claimed = await claim(db, { token, queue, limit, aged, kinds, position, maxBytes: CLAIM_MAX_BYTES });
    this.empty = claimed.jobs.length === 0;
    this.#rescanDue = claimed.rescanDue;
    if (narrow) this.#narrowed = claimed.position;
    else this.#position = claimed.position;
    return claimed;
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
    const rows = this.#agedCarry + limit;
    this.#agedCarry = rows % AGED_EVERY;
    return Math.min(Math.floor(rows / AGED_EVERY), limit);
  }
}
