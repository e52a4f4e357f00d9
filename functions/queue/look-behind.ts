import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import { MARKED } from './marked.ts';
import type { Kinds, Marks } from './marks.ts';
import { type Slice, TimeSlices } from './time-slices.ts';
import { UNPAUSED } from './unpaused.ts';

/** After a slice it rests for so many times as long: a look costs a core a fifth while it lasts. */
const REST = 4;

const SLICE = `
WITH ${UNPAUSED}
SELECT p.priority, to_char(due.run_at AT TIME ZONE 'UTC', ${ISO}) AS "runAt"
FROM lane l
CROSS JOIN ${MARKED}
CROSS JOIN LATERAL (
  SELECT i.run_at
  FROM millrace.live_jobs i
  WHERE i.status = 'pending' AND i.reaps < 2
    AND i.queue = $1 AND i.priority = p.priority
    AND i.run_at >= $4::timestamptz AND i.run_at < least(p.mark, $5::timestamptz)
    AND array_position(l.kinds, i.kind) IS NOT NULL
  ORDER BY i.run_at
  LIMIT 1
) due`;

const SUSPECT = `
SELECT
FROM millrace.live_jobs i
WHERE i.status = 'pending' AND i.reaps >= 2
  AND i.queue = $1 AND i.run_at <= now()
  AND array_position($2::text[], i.kind) IS NOT NULL
LIMIT 1`;

export interface LookBehindOptions {
  readonly queue: string;
  readonly kinds: Kinds;
  /** Where claims go on from, so that it need not look. A priority without a mark is looked through by them. */
  readonly until: Marks;
  /** Of the rescan that it is. */
  readonly rescannedAt: string;
}

/**
 * A look for jobs that no mark leads to, from the marks back to the beginning, in slices of `run_at` with rests between them. It
 * only reads, and passes paused kinds: a resume is looked back for by each claim. In one piece it would take a core for seconds
 * where vacuum has been kept away for millions of jobs, half a microsecond for each (measured), and what shares the core with it
 * waits.
 */
export class LookBehind {
  readonly options: LookBehindOptions;
  /** Where the earliest lies that is due, of each priority; `until` where none does. */
  readonly found: (string | null)[];
  foundSome = false;
  /** Milliseconds that its statements took. */
  walkedMs = 0;
  /** Milliseconds of the monotonic clock. */
  restUntil = 0;
  readonly #slices: TimeSlices;

  constructor(options: LookBehindOptions) {
    this.options = options;
    this.found = [...options.until];
    this.#slices = new TimeSlices(options.until.filter((mark) => mark !== null));
  }

  get done(): boolean {
    return this.#slices.done;
  }

  /** Looks through the next slice. */
  async next(db: Db): Promise<void> {
    const tookMs = await this.#slices.next((slice) => this.#look(db, slice));
    this.walkedMs += tookMs;
    this.restUntil = performance.now() + REST * tookMs;
  }

  async #look(db: Db, { from, until }: Slice): Promise<true> {
    const { queue, kinds, until: marks } = this.options;
    const names = [...kinds.keys()];
    const { rows } = await db.query<{ priority: number; runAt: string }>(SLICE, [
      queue,
      names,
      marks.map((mark) => mark ?? '-infinity'),
      from,
      until,
    ]);
    // Each slice lies before the one that was looked through last.
    for (const { priority, runAt } of rows) this.found[5 - priority] = runAt;
    const suspects = from === '-infinity' ? await db.query(SUSPECT, [queue, names]) : { rows: [] };
    if (rows.length + suspects.rows.length > 0) this.foundSome = true;
    return true;
  }
}
