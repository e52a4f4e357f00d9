import { decodeCursor, encodeCursor } from '../lambda/cursor.ts';
import type { JobId } from '../queue/job.ts';
import type { RedriveFilter } from '../queue/redrive-many.ts';

/** Where a step with this filter goes on; undefined if none of it gave that cursor. */
export function afterOf(filter: RedriveFilter, cursor: string): JobId | undefined {
  return decodeCursor(cursor, named(filter));
}

export function cursorAfter(filter: RedriveFilter, next: JobId | undefined): string | null {
  return next === undefined ? null : encodeCursor(next, named(filter));
}

/** What ties a cursor to its filter, and tells it from one of a listing. */
function named({ kind, error, deadAfter, deadBefore }: RedriveFilter): unknown[] {
  return ['redrive', kind, error, deadAfter, deadBefore];
}
