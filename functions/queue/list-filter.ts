import type { JobId, Status } from './job.ts';

/** Which jobs a listing or a count is about: those that meet all that is given. */
export interface Filter {
  readonly status?: Status | undefined;
  readonly kind?: string | undefined;
  readonly subject?: string | undefined;
  /**
   * Created then or later, by the time in the id: a UUIDv7 begins with the milliseconds of the clock that made it, the
   * database's or that of the function that took the request. So `created_at`, which is always the database's, can differ
   * from it by as much as those clocks do. An id of another version, which SQL can give, counts as what its first 48 bits say.
   */
  readonly createdAfter?: Date | undefined;
  /** Created before that, likewise: listings of [a, b) and [b, c) have no job in common and none is between them. */
  readonly createdBefore?: Date | undefined;
}

const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const OLDEST = '00000000-0000-0000-0000-000000000000';
/** What 48 bits can hold: in the year 10889. */
const MAX_MS = 2 ** 48 - 1;

/** The ids that a time filter leaves, both included. The bounds are those of partitions (millrace.uuidv7_floor). */
export function idRange({ createdAfter, createdBefore }: Filter): { readonly first: JobId; readonly last: JobId } {
  return {
    first: createdBefore === undefined ? NEWEST : `${millisecond(createdBefore)}-7000-7fff-ffffffffffff`,
    last: createdAfter === undefined ? OLDEST : `${millisecond(createdAfter)}-7000-8000-000000000000`,
  };
}

function millisecond(time: Date): string {
  const ms = Math.min(Math.max(time.getTime(), 0), MAX_MS);
  if (Number.isNaN(ms)) throw new RangeError('createdAfter and createdBefore must be valid times');
  return ms.toString(16).padStart(12, '0').replace(/^.{8}/, '$&-');
}

/** The filter as millrace.page and millrace.counts take it, behind their first three arguments. */
export function filterValues({ status, kind, subject }: Filter): unknown[] {
  return [status === undefined ? null : [status], kind ?? null, subject ?? null];
}
