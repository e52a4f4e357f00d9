import type { Db } from './db.ts';
import type { JobId } from './job.ts';
import { type ListedJob, VIEW_COLUMNS } from './job-view.ts';
import { type Filter, filterValues, idRange } from './list-filter.ts';

export interface Listing extends Filter {
  /** Jobs of a page, 1 to 200. */
  readonly limit: number;
  /** First job of the page, as `next` of the page before it with the same filter; undefined begins with the newest. */
  readonly from?: JobId | undefined;
}

export interface Page {
  /** Newest first, by id. */
  readonly jobs: readonly ListedJob[];
  /** Where the next page begins; undefined if this is the last. */
  readonly next: JobId | undefined;
}

// Both functions keep their plans (migrations/0018 and 0011).
const LIST = `
SELECT ${VIEW_COLUMNS}, j.errors -> -1 #- '{stack}' AS last_error
FROM millrace.jobs_without_content(ARRAY(
  SELECT p.id
  FROM millrace.page($1, $2, $3, $4, $5, $6) p(id)
  ORDER BY p.id DESC
  LIMIT $3
)) j
ORDER BY j.id DESC`;

/**
 * One page over jobs of every state, in one snapshot: a job on the move is seen once. A page begins at an id, whatever became
 * of that job, so pages neither miss nor repeat a job that the filter fits all the while.
 * Costs the page and some probes, whatever else the tables hold: a few per partition. With a subject and no kind, or with pending
 * or processing alone, some jobs of each table in question are read first, four times as many as the page has, and for a subject
 * at most twice that. Where they do not fill the page, it costs some probes for each kind: of a subject in the partitions that
 * it takes to fill it.
 */
export async function list(db: Db, { limit, from, ...filter }: Listing): Promise<Page> {
  const { first, last } = idRange(filter);
  const { rows } = await db.query<ListedJob>(LIST, [from ?? first, last, limit + 1, ...filterValues(filter)]);
  return { jobs: rows.slice(0, limit), next: rows[limit]?.id };
}
