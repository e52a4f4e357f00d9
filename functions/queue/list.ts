import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';
import { type ListedJob, VIEW_COLUMNS } from './job-view.ts';

export interface Listing {
  readonly status?: Status | undefined;
  readonly kind?: string | undefined;
  /** Jobs of a page, 1 to 200. */
  readonly limit: number;
  /** First job of the page; undefined begins with the newest. */
  readonly from?: JobId | undefined;
}

export interface Page {
  /** Newest first, by id. */
  readonly jobs: readonly ListedJob[];
  /** Where the next page begins; undefined if this is the last. */
  readonly next: JobId | undefined;
}

const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const GROUPS: readonly (readonly Status[])[] = [['pending', 'processing'], ['completed', 'cancelled'], ['dead']];

/** The rows of the ids that the branches found; LATERAL with a LIMIT stays one probe an id, whatever the statistics say. */
const ROWS = `
SELECT ${VIEW_COLUMNS}, j.errors -> -1 #- '{stack}' AS last_error
FROM (SELECT id FROM page ORDER BY id DESC LIMIT $2) newest
CROSS JOIN LATERAL (SELECT * FROM millrace.jobs WHERE jobs.id = newest.id LIMIT 1) j
ORDER BY j.id DESC`;

const ALL = `
WITH page AS (
  (SELECT id FROM millrace.live_jobs WHERE id <= $1 ORDER BY id DESC LIMIT $2)
  UNION ALL
  (SELECT id FROM millrace.finished_jobs WHERE id <= $1 ORDER BY id DESC LIMIT $2)
  UNION ALL
  (SELECT id FROM millrace.dead_jobs WHERE id <= $1 ORDER BY id DESC LIMIT $2)
)
${ROWS}`;

// Each probe reads in the order of one index, from where the page begins, and no more rows than the page has; what is
// beyond its kind and status is left out afterwards. Written as `kind = … ORDER BY id`, the planner may walk the primary
// key and hope to meet such rows soon (which takes the whole table when all of them are old), or read all of them and
// sort (when its statistics know none of them yet). The kind comes out of an array, so that no statistics are asked.
const OF_KIND = `
WITH page AS (
  SELECT near.id
  FROM unnest($6::text[]) k(kind)
  CROSS JOIN unnest($3::text[]) s(status)
  CROSS JOIN LATERAL (
    SELECT id, kind, status
    FROM millrace.live_jobs
    WHERE (kind, status, id) <= (k.kind, s.status, $1)
    ORDER BY kind DESC, status DESC, id DESC
    LIMIT $2
  ) near
  WHERE near.kind = k.kind AND near.status = s.status
  UNION ALL
  SELECT near.id
  FROM unnest($6::text[]) k(kind)
  CROSS JOIN unnest($4::text[]) s(status)
  CROSS JOIN LATERAL (
    SELECT id, kind, status
    FROM millrace.finished_jobs
    WHERE (kind, status, id) <= (k.kind, s.status, $1)
    ORDER BY kind DESC, status DESC, id DESC
    LIMIT $2
  ) near
  WHERE near.kind = k.kind AND near.status = s.status
  UNION ALL
  SELECT near.id
  FROM unnest($6::text[]) k(kind)
  CROSS JOIN unnest($5::text[]) s(status)
  CROSS JOIN LATERAL (
    SELECT id, kind
    FROM millrace.dead_jobs
    WHERE (kind, id) <= (k.kind, $1)
    ORDER BY kind DESC, id DESC
    LIMIT $2
  ) near
  WHERE near.kind = k.kind
)
${ROWS}`;

// live_jobs has no (status, id) index, which every claim would have to write: its kinds are probed one by one.
const OF_STATUS = `
WITH RECURSIVE kinds AS (
  (SELECT kind FROM millrace.live_jobs WHERE $3::text[] <> '{}' ORDER BY kind LIMIT 1)
  UNION ALL
  SELECT (SELECT kind FROM millrace.live_jobs WHERE kind > k.kind ORDER BY kind LIMIT 1)
  FROM kinds k
  WHERE k.kind IS NOT NULL
),
page AS (
  SELECT near.id
  FROM kinds k
  CROSS JOIN unnest($3::text[]) s(status)
  CROSS JOIN LATERAL (
    SELECT id, kind, status
    FROM millrace.live_jobs
    WHERE (kind, status, id) <= (k.kind, s.status, $1)
    ORDER BY kind DESC, status DESC, id DESC
    LIMIT $2
  ) near
  WHERE near.kind = k.kind AND near.status = s.status
  UNION ALL
  SELECT near.id
  FROM unnest($4::text[]) s(status)
  CROSS JOIN LATERAL (
    SELECT id, status
    FROM millrace.finished_jobs
    WHERE (status, id) <= (s.status, $1)
    ORDER BY status DESC, id DESC
    LIMIT $2
  ) near
  WHERE near.status = s.status
  UNION ALL
  SELECT near.id
  FROM unnest($5::text[]) s(status)
  CROSS JOIN LATERAL (SELECT id FROM millrace.dead_jobs WHERE id <= $1 ORDER BY id DESC LIMIT $2) near
)
${ROWS}`;

/**
 * One page over jobs of every state, in one snapshot: a job on the move is seen once.
 * Costs the page and some probes (a few per partition; per kind in live_jobs if only a status is given), whatever else
 * the tables hold.
 */
export async function list(db: Db, { status, kind, limit, from = NEWEST }: Listing): Promise<Page> {
  const [live, finished, dead] = GROUPS.map((group) => group.filter((one) => status === undefined || one === status));
  const { rows } =
    kind !== undefined
      ? await db.query<ListedJob>(OF_KIND, [from, limit + 1, live, finished, dead, [kind]])
      : status !== undefined
        ? await db.query<ListedJob>(OF_STATUS, [from, limit + 1, live, finished, dead])
        : await db.query<ListedJob>(ALL, [from, limit + 1]);
  return { jobs: rows.slice(0, limit), next: rows[limit]?.id };
}
