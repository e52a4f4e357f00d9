import { aroundBlocked } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { JobId } from './job.ts';
import type { Operator } from './operator.ts';
import { putBack } from './redrive.ts';

/** Which dead jobs; what is not given fits all. */
export interface RedriveFilter {
  readonly kind?: string | undefined;
  /** A part of the last error's name or message, upper and lower case alike. */
  readonly error?: string | undefined;
  /** ISO 8601. Dead since then or later. */
  readonly deadAfter?: string | undefined;
  /** ISO 8601. Dead before that. */
  readonly deadBefore?: string | undefined;
}

export interface RedriveRequest {
  readonly filter: RedriveFilter;
  /** Jobs that one call redrives, 1 to 1,000. */
  readonly limit: number;
  /** `next` of the call before. */
  readonly after?: JobId | undefined;
}

export interface RedrivenPage {
  readonly redriven: number;
  /** Fitted and stay dead: a job of the same unique key is pending, or somebody else is at work on them. */
  readonly skipped: number;
  /** Where the next call goes on; undefined if this was the last. */
  readonly next: JobId | undefined;
}

/** Dead rows that one call looks at: 10 ms of the server's time, 90 if each has errors of 12 KB to search (measured). */
const LOOK = 5_000;
/** Of payloads, which are written again if their days have gone: a second of the server's time (measured). */
const MAX_BYTES = 32 * 1024 * 1024;
export const REDRIVE_MAX = 1_000;

/*
 * In the order of ids, of one index or the other, and no more rows than it may look at. As in list.ts, the kind is compared
 * afterwards: with `kind = …` the planner may walk the primary key instead, in the hope of meeting such rows soon.
 */
const FITTING = `
WITH near AS MATERIALIZED (
  (
    SELECT d.id, d.kind, d.finished_at, d.payload_bytes, CASE WHEN $3::text IS NOT NULL THEN d.errors -> -1 END AS error
    FROM millrace.dead_jobs d
    WHERE $2::text IS NULL AND d.id > $1
    ORDER BY d.id
    LIMIT $7
  )
  UNION ALL
  (
    SELECT d.id, d.kind, d.finished_at, d.payload_bytes, CASE WHEN $3::text IS NOT NULL THEN d.errors -> -1 END
    FROM millrace.dead_jobs d
    WHERE $2::text IS NOT NULL AND (d.kind, d.id) > ($2, $1)
    ORDER BY d.kind, d.id
    LIMIT $7
  )
),
seen AS MATERIALIZED (
  SELECT n.*
  FROM near n
  WHERE $2::text IS NULL OR n.kind = $2
),
fitting AS (
  SELECT s.id,
         row_number() OVER taken <= $6 AND (row_number() OVER taken = 1 OR sum(s.payload_bytes) OVER taken <= $8) AS fits
  FROM seen s
  WHERE ($4::timestamptz IS NULL OR s.finished_at >= $4)
    AND ($5::timestamptz IS NULL OR s.finished_at < $5)
    AND ($3::text IS NULL
         OR strpos(lower(s.error ->> 'name'), lower($3)) > 0
         OR strpos(lower(s.error ->> 'message'), lower($3)) > 0)
  WINDOW taken AS (ORDER BY s.id ROWS UNBOUNDED PRECEDING)
)
SELECT ARRAY(SELECT f.id FROM fitting f WHERE f.fits ORDER BY f.id) AS ids,
       EXISTS (SELECT FROM fitting f WHERE NOT f.fits) AS "leftOver",
       (SELECT count(*) FROM seen) = $7 AS more,
       (SELECT s.id FROM seen s ORDER BY s.id DESC LIMIT 1) AS last`;

// A page that went through in one statement says how many it tried. One that went row by row has a row of its own for each,
// and may have been interrupted: what is left of it is still to be done.
const DONE_BEFORE = `
SELECT l.count AS redriven, (l.target ->> 'tried')::int - l.count AS skipped, l.target ->> 'next' AS next
FROM millrace.operator_log l
WHERE l.request_id = $1 AND l.action = 'redrive' AND l.target ? 'tried' AND l.target - 'tried' - 'next' = $2
  AND l.at > now() - interval '10 minutes'
ORDER BY l.id
LIMIT 1`;

interface Fitting {
  ids: JobId[];
  leftOver: boolean;
  more: boolean;
  last: JobId | null;
}

/**
 * Redrives dead jobs by filter, page by page in the order of their ids: call it with `after: next` until there is no `next`.
 * It can be stopped and taken up at any page. No job is redriven twice on the way, also not one that is dead again: it lies
 * behind. A page looks at 5,000 dead jobs at most, so it may redrive none and still have a next. Pass a pool, or a client
 * with no transaction open. @throws RangeError for a limit out of bounds
 */
export async function redriveMany(db: Db, request: RedriveRequest, by?: Operator): Promise<RedrivenPage> {
  const target = targetOf(request);
  const before = by && (await doneBefore(db, target, by));
  if (before) return before;
  const { ids, next } = await fitting(db, request);
  if (ids.length === 0) return { redriven: 0, skipped: 0, next };
  const whole = { ...target, tried: ids.length, next: next ?? null };
  const redriven = await aroundBlocked<JobId, JobId>(
    ids,
    (some, patience) => putBack(db, some, some === ids ? whole : { ...target, id: some[0] }, by, patience),
    () => [],
  );
  // The first try of this request may have been on its way still when it was looked for.
  const meanwhile = by && redriven.length === 0 ? await doneBefore(db, target, by) : undefined;
  if (meanwhile) return meanwhile;
  return { redriven: redriven.length, skipped: ids.length - redriven.length, next };
}

/** How many that page would try to redrive. Changes nothing. */
export async function countRedrivable(
  db: Db,
  request: RedriveRequest,
): Promise<{ matched: number; next: JobId | undefined }> {
  const { ids, next } = await fitting(db, request);
  return { matched: ids.length, next };
}

async function fitting(
  db: Db,
  { filter, limit, after }: RedriveRequest,
): Promise<{ ids: readonly JobId[]; next: JobId | undefined }> {
  if (!Number.isInteger(limit) || limit < 1 || limit > REDRIVE_MAX) {
    throw new RangeError(`redriveMany takes a limit from 1 to ${REDRIVE_MAX}, not ${limit}`);
  }
  const { kind, error, deadAfter, deadBefore } = filter;
  const { rows } = await db.query<Fitting>(FITTING, [
    after ?? '00000000-0000-0000-0000-000000000000',
    kind ?? null,
    error ?? null,
    deadAfter ?? null,
    deadBefore ?? null,
    limit,
    LOOK,
    MAX_BYTES,
  ]);
  const { ids, leftOver, more, last } = rows[0] as Fitting;
  return { ids, next: leftOver ? ids.at(-1) : more && last !== null ? last : undefined };
}

async function doneBefore(db: Db, target: object, { requestId }: Operator): Promise<RedrivenPage | undefined> {
  const { rows } = await db.query<{ redriven: number; skipped: number; next: JobId | null }>(DONE_BEFORE, [
    requestId,
    JSON.stringify(target),
  ]);
  return rows[0] && { ...rows[0], next: rows[0].next ?? undefined };
}

/** As operator_log keeps it, in the words of the wire. With the cursor, or the second page would pass for a resend of the first. */
function targetOf({ filter: { kind, error, deadAfter, deadBefore }, limit, after }: RedriveRequest): object {
  return { kind, error, dead_after: deadAfter, dead_before: deadBefore, limit, after };
}
