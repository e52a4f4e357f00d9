import { earlier } from './advance.ts';
import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import type { Kinds, Marks } from './marks.ts';
import { UNPAUSED } from './unpaused.ts';

/** Milliseconds that a slice should take: some 100,000 entries. */
const SLICE_MS = 50;
/** Milliseconds of `run_at` in the first slice. */
const FIRST_SPAN_MS = 10_000;
const LEAST_SPAN_MS = 1_000;
/** A slice is no shorter than this share of how far the look has come: however slow a database answers, it comes to its end. */
const LEAST_SHARE = 1 / 16;
/** From here on a slice goes to the beginning of time. */
const LONGEST_SPAN_MS = 86_400_000;
const BEGINNING = Number.NEGATIVE_INFINITY;
/** After a slice it rests for so many times as long: a look costs a core a fifth while it lasts. */
const REST = 4;

const SLICE = `
WITH ${UNPAUSED}
SELECT p.priority, to_char(due.run_at AT TIME ZONE 'UTC', ${ISO}) AS "runAt"
FROM lane l
CROSS JOIN unnest('{5,4,3,2,1,0,-1,-2,-3,-4,-5}'::smallint[], $3::timestamptz[]) p(priority, until)
CROSS JOIN LATERAL (
  SELECT i.run_at
  FROM millrace.live_jobs i
  WHERE i.status = 'pending' AND i.reaps < 2
    AND i.queue = $1 AND i.priority = p.priority
    AND i.run_at >= $4::timestamptz AND i.run_at < least(p.until, $5::timestamptz)
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
 * waits. How many lie in a slice is known only afterwards, so each is twice as long as the one before if that was quick, and half
 * as long if it was slow.
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
  readonly #start: number;
  #until: number;
  #spanMs = FIRST_SPAN_MS;

  constructor(options: LookBehindOptions) {
    this.options = options;
    this.found = [...options.until];
    const known = options.until.filter((mark) => mark !== null).map((mark) => Date.parse(mark));
    // A millisecond that a mark's microseconds lie in ends with the next one.
    this.#start = known.length > 0 ? Math.max(...known) + 1 : BEGINNING;
    this.#until = this.#start;
  }

  get done(): boolean {
    return this.#until === BEGINNING;
  }

  /** Looks through the next slice. */
  async next(db: Db): Promise<void> {
    const { queue, kinds, until } = this.options;
    this.#spanMs = Math.max(this.#spanMs, LEAST_SPAN_MS, (this.#start - this.#until) * LEAST_SHARE);
    const from = this.#spanMs > LONGEST_SPAN_MS ? BEGINNING : this.#until - this.#spanMs;
    const startedAt = performance.now();
    const { rows } = await db.query<{ priority: number; runAt: string }>(SLICE, [
      queue,
      [...kinds.keys()],
      until.map((mark) => mark ?? '-infinity'),
      timeOf(from),
      timeOf(this.#until),
    ]);
    for (const { priority, runAt } of rows) {
      this.foundSome = true;
      this.found[5 - priority] = earlier(this.found[5 - priority] ?? null, runAt);
    }
    this.#until = from;
    if (this.done) await this.#lookForSuspects(db);
    const tookMs = performance.now() - startedAt;
    this.walkedMs += tookMs;
    this.restUntil = performance.now() + REST * tookMs;
    if (tookMs < SLICE_MS / 2) this.#spanMs *= 2;
    if (tookMs > SLICE_MS * 2) this.#spanMs /= 2;
  }

  async #lookForSuspects(db: Db): Promise<void> {
    const { rows } = await db.query(SUSPECT, [this.options.queue, [...this.options.kinds.keys()]]);
    if (rows.length > 0) this.foundSome = true;
  }
}

function timeOf(ms: number): string {
  return ms === BEGINNING ? '-infinity' : new Date(ms).toISOString();
}
