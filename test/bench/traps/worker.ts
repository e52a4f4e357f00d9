import { randomUUID } from 'node:crypto';
import { AgedShare } from '../../../functions/queue/aged-share.ts';
import { type Claimed, claim } from '../../../functions/queue/claim.ts';
import { complete } from '../../../functions/queue/complete.ts';
import type { Db } from '../../../functions/queue/db.ts';
import { openPosition, type Position, publish } from '../../../functions/queue/marks.ts';
import { KIND } from './lay.ts';

/** What it has a processor for: its own kind, and one that may be paused. */
export const PAUSED_KIND = 'bench.paused';
const KINDS = new Map([KIND, PAUSED_KIND].map((kind) => [kind, 60]));
const QUEUE = 'default';

/** Claims and settles as a run does, one statement after the other, and keeps its place. */
export class TrapWorker {
  #position: Position | undefined;
  readonly #share = new AgedShare(0);

  /**
   * The first one looks from where others have got to, or from the beginning; the next ones begin where it came to, as all but one
   * of a busy run do in a tenth of a second.
   */
  async claim(db: Db, limit: number): Promise<Claimed> {
    const position = this.#position ?? (await openPosition(db, QUEUE, KINDS));
    const soon = this.#position !== undefined;
    const aged = this.#share.of(limit, { soon });
    const place = { token: randomUUID(), queue: QUEUE, kinds: KINDS, position, soon };
    const claimed = await claim(db, { ...place, limit, aged, maxBytes: 4_194_304 });
    this.#share.claimed(limit, aged);
    this.#position = claimed.position;
    return claimed;
  }

  async complete(db: Db, { jobs }: Claimed): Promise<void> {
    await complete(
      db,
      jobs.map((job) => ({ ...job, result: null })),
    );
  }

  /** Lets a worker that begins later start where this one is. */
  async leave(db: Db): Promise<void> {
    if (this.#position) await publish(db, QUEUE, KINDS, this.#position);
  }
}
