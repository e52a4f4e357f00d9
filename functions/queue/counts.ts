import type { Db } from './db.ts';
import type { Status } from './job.ts';
import { type Filter, filterValues, idRange } from './list-filter.ts';

/** Each status is counted up to that: a count of 1,000 means so many or more. */
export const COUNT_LIMIT = 1000;

/** By status; the one of the filter, or all five. */
export type Counts = Readonly<Partial<Record<Status, number>>>;

const COUNTS = `
SELECT c.status, c.n
FROM millrace.counts($1, $2, $3, $4, $5, $6) c`;

/**
 * How many jobs there are by status, in one snapshot. Of each status at most 1,000 entries of an index are read, whatever the
 * filter; the probes are those of a page.
 */
export async function counts(db: Db, filter: Filter = {}): Promise<Counts> {
  const { first, last } = idRange(filter);
  const { rows } = await db.query<{ status: Status; n: number }>(COUNTS, [
    first,
    last,
    COUNT_LIMIT,
    ...filterValues(filter),
  ]);
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}
