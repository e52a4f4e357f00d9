import { createHash } from 'node:crypto';
import { earlier, FROM_THE_BEGINNING } from './advance.ts';
import type { Db } from './db.ts';
import { ISO } from './iso.ts';

/** Kinds a worker has, each with its lease in seconds (the kind's timeout plus a margin). */
export type Kinds = ReadonlyMap<string, number>;

/**
 * How far the claims of a queue and a set of kinds have seen: everything due before a mark was claimed, or held by
 * somebody else. It is what keeps a claim flat while a pinned vacuum horizon piles up dead index entries behind it.
 * Times are ISO 8601 in UTC with microseconds, so that text compares as time.
 */
export interface Position {
  /** One per priority, 5 down to −5. `null`: from the beginning. None is less than the grace ago: what commits late is found. */
  readonly marks: Marks;
  /** The same with the short grace, for claims that follow at once: see `ClaimRequest.soon`. Null before the first claim from `marks`. */
  readonly near: Marks | null;
  /** No suspect that was due before it was left. Null: from the beginning. Not published: it moves with each claim that sees none. */
  readonly suspectMark: string | null;
  /** Which rescan it rests on. */
  readonly rescannedAt: string;
  /** The latest resume that was looked back for; `null` while unknown. */
  readonly resumedAt: string | null;
}

export type Marks = readonly (string | null)[];

/**
 * Half a minute: a row that no mark leads to (its transaction was open for longer than the grace) waits that long at most, where a
 * rescan is short. Long ones are rarer: rescan-timing.ts.
 */
export const RESCAN_SECONDS = 30;

// A rescan that lies ahead was made before the database's clock was set back: its marks hide what has come in since.
const TAKE = `
INSERT INTO millrace.claim_marks AS m (queue, kinds_hash, kinds, marks, rescanned_at)
VALUES ($1, $2, $3, array_fill('-infinity'::timestamptz, '{11}'), now())
ON CONFLICT (queue, kinds_hash) DO UPDATE
SET marks = CASE WHEN $5 AND m.rescanned_at <= now() THEN m.marks ELSE excluded.marks END, rescanned_at = excluded.rescanned_at
WHERE m.rescanned_at <= now() - make_interval(secs => $4) OR m.rescanned_at > now() + make_interval(secs => $4)
RETURNING to_char(m.rescanned_at AT TIME ZONE 'UTC', ${ISO}) AS rescanned_at`;

const READ = `
SELECT ARRAY(
         SELECT to_char(nullif(u.mark, '-infinity') AT TIME ZONE 'UTC', ${ISO})
         FROM unnest(m.marks) WITH ORDINALITY u(mark, place)
         ORDER BY u.place
       ) AS marks,
       to_char(m.rescanned_at AT TIME ZONE 'UTC', ${ISO}) AS rescanned_at
FROM millrace.claim_marks m
WHERE m.queue = $1 AND m.kinds_hash = $2`;

// Only onto the same rescan: a worker that has not heard of a newer one would hide what that one is to find.
const PUBLISH = `
UPDATE millrace.claim_marks m
SET marks = ARRAY(
  SELECT CASE WHEN $5 THEN least(u.published, u.mark) ELSE greatest(u.published, u.mark) END
  FROM unnest(m.marks, $4::timestamptz[]) WITH ORDINALITY u(published, mark, place)
  ORDER BY u.place)
WHERE m.queue = $1 AND m.kinds_hash = $2 AND m.rescanned_at = $3`;

/** Where a run begins: what others have published, or the beginning if nobody has within half a minute. */
export async function openPosition(db: Db, queue: string, kinds: Kinds): Promise<Position> {
  const { marks, rescannedAt } = await takeOrRead(db, queue, kinds);
  return { marks, near: null, suspectMark: null, rescannedAt, resumedAt: null };
}

/**
 * Call it when a claim says `rescanDue`. One worker for each half minute wins and starts from the beginning; the others
 * go back to what it has published, where that lies behind them, so that they help if the winner is busy or gone.
 */
export async function rescan(db: Db, queue: string, kinds: Kinds, position: Position): Promise<Position> {
  const { marks, rescannedAt } = await takeOrRead(db, queue, kinds);
  const back = marks.map((mark, i) => earlier(mark, position.marks[i] ?? null));
  return { ...position, rescannedAt, marks: back, near: null, suspectMark: null };
}

/**
 * The same for a look beside the claims, which takes its time: until it publishes, others go on from their marks, and those that begin
 * then from where the rescan before it came to. `taken`: this worker is to make it.
 */
export function takeBeside(db: Db, queue: string, kinds: Kinds): Promise<{ taken: boolean; rescannedAt: string }> {
  return takeOrRead(db, queue, kinds, true);
}

/**
 * Lets runs that begin later start at these marks. After the first claim that follows a rescan, and when a run ends.
 * Only with the kinds that the position was opened with: a claim of fewer passes rows of the others. `back`: they lie behind what is
 * published, since a look has found something there.
 */
export async function publish(
  db: Db,
  queue: string,
  kinds: Kinds,
  { rescannedAt, marks }: Pick<Position, 'rescannedAt' | 'marks'>,
  { back = false } = {},
): Promise<void> {
  await db.query(PUBLISH, [queue, hashOf(kinds), rescannedAt, marks, back]);
}

async function takeOrRead(
  db: Db,
  queue: string,
  kinds: Kinds,
  keep = false,
): Promise<Pick<Position, 'marks' | 'rescannedAt'> & { readonly taken: boolean }> {
  const key = [queue, hashOf(kinds)];
  const taken = await db.query<{ rescanned_at: string }>(TAKE, [
    ...key,
    [...kinds.keys()].sort(),
    RESCAN_SECONDS,
    keep,
  ]);
  if (taken.rows[0]) return { marks: FROM_THE_BEGINNING, rescannedAt: taken.rows[0].rescanned_at, taken: true };
  // A second statement: the first one's snapshot does not hold the row that it lost against.
  const { rows } = await db.query<{ marks: (string | null)[]; rescanned_at: string }>(READ, key);
  if (rows[0]) return { marks: rows[0].marks, rescannedAt: rows[0].rescanned_at, taken: false };
  return takeOrRead(db, queue, kinds, keep); // pruned in between
}

/** Names of kinds have no comma (contract.ts, NAME). */
export function hashOf(kinds: Kinds): string {
  return createHash('sha256')
    .update([...kinds.keys()].sort().join(','))
    .digest('hex')
    .slice(0, 32);
}
