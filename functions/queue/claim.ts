import { advance, type Sight, type Spot } from './advance.ts';
import type { Db } from './db.ts';
import { type ClaimedJob, type ClaimedRow, claimedJob } from './job.ts';
import { type Kinds, type Position, RESCAN_SECONDS } from './marks.ts';

export interface ClaimRequest {
  /** Fresh random UUID. Known before the statement is sent, so that a claim whose answer was lost can be released by it. */
  readonly token: string;
  readonly queue: string;
  /** Rows at most, 1 or more. */
  readonly limit: number;
  /** How many of them go to the oldest due whatever their priority, so that nothing starves. */
  readonly aged: number;
  readonly kinds: Kinds;
  readonly position: Position;
  /** Sum of payload bytes at most. The first row comes however heavy it is. */
  readonly maxBytes: number;
}

export interface Claimed {
  /** Priority descending, then `run_at`. */
  readonly jobs: ClaimedJob[];
  /** For the next claim. */
  readonly position: Position;
  /** A job that was reaped twice is due: see `claimSuspect`. */
  readonly suspectDue: boolean;
  /** Half a minute has gone by since the last rescan: `rescan` before the next claim, `publish` after it. */
  readonly rescanDue: boolean;
}

/** How long after its `run_at` a transaction may commit and still be found at the next claim. Later ones wait for a rescan. */
const LATE_COMMIT_SECONDS = 2;

/*
 * One probe of the claim index for each priority, from its mark on. What keeps it O(batch) with any statistics:
 * - ORDER BY and LIMIT inside each probe: a plan that has to sort never looks cheaper than the index
 * - kinds by array_position, which no index answers: `= ANY` would offer the planner an index on kind
 * - rows are found again by `id = ANY (ARRAY(…))`, which is guessed as ten rows: a join becomes a hash of whole tables
 * - `locked_by IS NULL` where `status = 'pending'` would offer a partial index
 * - payloads by a function: see docs/decisions/0004, which is about more than speed
 * The oldest come first: heads of all priorities are read without a lock, and only those chosen are locked.
 */
const CLAIM = `
WITH lane AS MATERIALIZED (
  SELECT ARRAY(
           SELECT k.kind
           FROM unnest($3::text[]) k(kind)
           WHERE NOT EXISTS (
             SELECT
             FROM millrace.pauses p
             WHERE p.resumed_at IS NULL AND (p.scope, p.name) IN (('kind', k.kind), ('queue', $2)))
         ) AS kinds,
         (
           SELECT max(p.resumed_at)
           FROM millrace.pauses p
           WHERE (p.scope = 'queue' AND p.name = $2) OR (p.scope = 'kind' AND p.name = ANY ($3::text[]))
         ) AS resumed_at
),
sight AS MATERIALIZED (
  SELECT l.kinds,
         CASE WHEN l.kinds = '{}' THEN 0 ELSE $5::int END AS wanted,
         coalesce(l.resumed_at > coalesce($9::timestamptz, $8::timestamptz - make_interval(secs => $11)), false)
           AS looked_back,
         greatest(l.resumed_at, $9::timestamptz) AS resumed_at
  FROM lane l
),
probes AS MATERIALIZED (
  SELECT p.priority, s.kinds, s.wanted,
         CASE WHEN s.looked_back THEN '-infinity' ELSE coalesce(p.mark, '-infinity') END AS mark
  FROM sight s
  CROSS JOIN unnest('{5,4,3,2,1,0,-1,-2,-3,-4,-5}'::smallint[], $7::timestamptz[]) p(priority, mark)
),
heads AS MATERIALIZED (
  SELECT p.priority, h.id, h.run_at, row_number() OVER (ORDER BY h.run_at) <= $6::int AS chosen
  FROM probes p
  CROSS JOIN LATERAL (
    SELECT i.id, i.run_at
    FROM millrace.live_jobs i
    WHERE i.status = 'pending' AND i.reaps < 2
      AND i.queue = $2 AND i.priority = p.priority AND i.run_at <= now() AND i.run_at >= p.mark
      AND array_position(p.kinds, i.kind) IS NOT NULL
    ORDER BY i.run_at
    LIMIT least(p.wanted, $6::int)
  ) h
),
oldest AS MATERIALIZED (
  SELECT j.id, j.priority, j.run_at, j.payload_bytes
  FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(SELECT h.id FROM heads h WHERE h.chosen))
    AND j.locked_by IS NULL AND j.run_at <= now()
  FOR UPDATE SKIP LOCKED
),
urgent AS MATERIALIZED (
  SELECT due.id, due.priority, due.run_at, due.payload_bytes
  FROM probes p
  CROSS JOIN LATERAL (
    SELECT i.id, i.priority, i.run_at, i.payload_bytes
    FROM millrace.live_jobs i
    WHERE i.status = 'pending' AND i.reaps < 2
      AND i.queue = $2 AND i.priority = p.priority AND i.run_at <= now() AND i.run_at >= p.mark
      AND array_position(p.kinds, i.kind) IS NOT NULL
      AND i.id <> ALL (ARRAY(SELECT o.id FROM oldest o))
    ORDER BY i.run_at
    LIMIT p.wanted
    FOR UPDATE SKIP LOCKED
  ) due
  LIMIT $5::int - (SELECT count(*) FROM oldest)
),
weighed AS MATERIALIZED (
  SELECT c.id, c.part, c.priority, c.run_at,
         row_number() OVER taken = 1 OR sum(c.payload_bytes) OVER taken <= $4::bigint AS fits
  FROM (
    SELECT o.*, 0 AS part FROM oldest o
    UNION ALL
    SELECT u.*, 1 FROM urgent u
  ) c
  WINDOW taken AS (ORDER BY c.part, c.part * c.priority DESC, c.run_at, c.id ROWS UNBOUNDED PRECEDING)
),
claimed AS (
  UPDATE millrace.live_jobs j
  SET status = 'processing',
      attempts = j.attempts + 1,
      locked_by = $1,
      locked_until = clock_timestamp()
        + make_interval(secs => ($10::float8[])[array_position($3::text[], j.kind)]),
      started_at = clock_timestamp()
  WHERE j.id = ANY (ARRAY(SELECT w.id FROM weighed w WHERE w.fits))
  RETURNING j.*
)
SELECT to_char((now() - make_interval(secs => $11)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS seen_until,
       now() >= $8::timestamptz + make_interval(secs => $12) AS rescan_due,
       s.looked_back,
       to_char(s.resumed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS resumed_at,
       (SELECT count(*) FROM weighed) < s.wanted AS exhausted,
       (
         SELECT i.run_at
         FROM millrace.live_jobs i
         WHERE i.status = 'pending' AND i.reaps >= 2
           AND i.queue = $2 AND i.run_at <= now()
           AND array_position(s.kinds, i.kind) IS NOT NULL
         ORDER BY i.run_at
         LIMIT 1
       ) IS NOT NULL AS suspect_due,
       (
         SELECT jsonb_agg(jsonb_build_object(
           'priority', n.priority,
           'runAt', to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
         FROM (
           SELECT p.priority,
                  coalesce(
                    min(h.run_at) FILTER (WHERE NOT h.chosen),
                    CASE WHEN count(h.id) < $6::int THEN now() ELSE max(h.run_at) END
                  ) AS run_at
           FROM probes p
           LEFT JOIN heads h ON h.priority = p.priority
           WHERE p.wanted > 0 AND $6::int > 0
           GROUP BY p.priority
         ) n
       ) AS next_heads,
       (
         SELECT jsonb_agg(jsonb_build_object(
           'priority', n.priority,
           'aged', n.part = 0,
           'runAt', to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
         FROM (
           SELECT w.priority, w.part, min(w.run_at) AS run_at
           FROM weighed w
           WHERE NOT w.fits
           GROUP BY w.priority, w.part
         ) n
       ) AS left_out,
       c.id, c.kind, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps,
       to_char(c.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS run_at,
       to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
       (extract(epoch FROM c.started_at - c.run_at) * 1000)::float8 AS waited_ms,
       c.id IN (SELECT o.id FROM oldest o) AS aged,
       p.payload
FROM sight s
LEFT JOIN claimed c ON true
LEFT JOIN millrace.payloads_of(ARRAY(SELECT c.id FROM claimed c)) p ON p.id = c.id`;

interface Header {
  readonly seen_until: string;
  readonly rescan_due: boolean;
  readonly looked_back: boolean;
  readonly resumed_at: string | null;
  readonly exhausted: boolean;
  readonly suspect_due: boolean;
  /** Where the heads that were not taken begin, of each priority. */
  readonly next_heads: Spot[] | null;
  /** The first of each priority and part. */
  readonly left_out: (Spot & { readonly aged: boolean })[] | null;
}

type Row = Header & (ClaimedRow | { readonly id: null }) & { readonly aged: boolean | null };

/**
 * Takes due jobs of these kinds: the urgent first, `aged` of them the oldest. An attempt counts from here on. Rows that
 * somebody else holds at the moment are passed over; a rescan finds them if they come back. Costs O(limit), unless it
 * looks back: the first one, the first after a rescan, and the first after a resume.
 */
export async function claim(db: Db, request: ClaimRequest): Promise<Claimed> {
  const { token, queue, limit, kinds, position } = request;
  const { rows } = await db.query<Row>(CLAIM, [
    token,
    queue,
    [...kinds.keys()],
    request.maxBytes,
    limit,
    Math.min(request.aged, limit),
    position.marks,
    position.rescannedAt,
    position.resumedAt,
    [...kinds.values()],
    LATE_COMMIT_SECONDS,
    RESCAN_SECONDS,
  ]);
  const header = rows[0] as Row;
  const taken = rows.filter((row): row is Row & ClaimedRow => row.id !== null);
  const jobs = taken.map((row) => claimedJob(row, token, queue)).sort(inClaimOrder);
  return {
    jobs,
    position: advance(position, sightOf(header, taken)),
    suspectDue: header.suspect_due,
    rescanDue: header.rescan_due,
  };
}

function sightOf(header: Header, taken: readonly (Row & ClaimedRow)[]): Sight {
  const leftOut = header.left_out ?? [];
  const picked = [...taken.map(({ priority, run_at, aged }) => ({ priority, runAt: run_at, aged })), ...leftOut];
  return {
    seenUntil: header.seen_until,
    lookedBack: header.looked_back,
    resumedAt: header.resumed_at,
    exhausted: header.exhausted,
    urgent: picked.filter((spot) => !spot.aged),
    nextHeads: header.next_heads ?? [],
    leftOut,
  };
}

/** UPDATE … RETURNING keeps no order. */
function inClaimOrder(a: ClaimedJob, b: ClaimedJob): number {
  return b.priority - a.priority || (a.runAt < b.runAt ? -1 : a.runAt > b.runAt ? 1 : 0);
}
