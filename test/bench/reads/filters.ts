import type { Db } from '../../../functions/queue/db.ts';
import { type JobId, STATUSES } from '../../../functions/queue/job.ts';
import { type Listing, list } from '../../../functions/queue/list.ts';
import type { Filter } from '../../../functions/queue/list-filter.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Every combination of what a listing takes: a status, a kind, a subject, and times, each of them or none. */
export function combinations(quick: boolean): readonly Filter[] {
  const now = Date.now();
  const ago = (ms: number) => new Date(now - ms);
  const times: readonly Filter[] = [
    {},
    { createdAfter: ago(3 * DAY + HOUR), createdBefore: ago(3 * DAY) },
    ...(quick ? [] : [{ createdAfter: ago(HOUR / 10) }, { createdBefore: ago(6.5 * DAY) }]),
  ];
  const kinds = quick ? [undefined, 'rare'] : [undefined, 'kind.1', 'rare'];
  const subjects = quick ? [undefined, 'tenant'] : [undefined, 'tenant', 'branch', 'invoice:77'];
  return [undefined, ...STATUSES].flatMap((status) =>
    kinds.flatMap((kind) => subjects.flatMap((subject) => times.map((time) => ({ status, kind, subject, ...time })))),
  );
}

/** `completed, kind.1, created after …`, or `everything`. */
export function described({ status, kind, subject, createdAfter, createdBefore }: Filter): string {
  const times =
    createdAfter && createdBefore ? 'of an hour' : createdAfter ? 'of the last minutes' : 'of the first day';
  return (
    [status, kind, subject, (createdAfter ?? createdBefore) && times].filter((part) => part !== undefined).join(', ') ||
    'everything'
  );
}

export interface Pages {
  readonly first: Listing;
  /** Where there is more than one page. */
  readonly middle?: Listing;
  readonly last?: Listing;
}

/** The first page of a filter; where there are more, the last one, and one that begins half way between the two in time. */
export async function pagesOf(db: Db, filter: Filter, limit: number): Promise<Pages> {
  const first = { ...filter, limit };
  const { jobs, next } = await list(db, first);
  if (next === undefined) return { first };
  const newest = timeOf((jobs[0] as { id: JobId }).id);
  const last = { ...filter, limit, from: await beginOfLast(db, first, newest) };
  return { first, middle: { ...filter, limit, from: idAt((newest + timeOf(last.from)) / 2) }, last };
}

/** By halves: the newest time from which on there is no further page. */
async function beginOfLast(db: Db, listing: Listing, newest: number): Promise<JobId> {
  let few = newest - 40 * DAY;
  let many = newest;
  while (many - few > 1) {
    const middle = Math.floor((few + many) / 2);
    const { jobs, next } = await list(db, { ...listing, from: idAt(middle) });
    if (next !== undefined) many = middle;
    else few = middle;
    if (next === undefined && jobs.length > listing.limit / 2) break;
  }
  return idAt(few);
}

const timeOf = (id: JobId): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

/** Any page may begin at any id. */
function idAt(ms: number): JobId {
  return `${Math.floor(ms).toString(16).padStart(12, '0').replace(/^.{8}/, '$&-')}-7fff-bfff-ffffffffffff`;
}
