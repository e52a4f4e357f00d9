import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../lambda/cursor.ts';
import type { HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { queryOf } from '../lambda/query.ts';
import { NAME } from '../queue/contract.ts';
import { textFlaw } from '../queue/flaws.ts';
import { STATUSES } from '../queue/job.ts';
import type { Listing } from '../queue/list.ts';
import type { Filter } from '../queue/list-filter.ts';
import { queryTime } from './query-time.ts';

/** The query of `GET /jobs`. All filters combine; times compare with the time in the id (see Filter). */
export const listQuery = z.strictObject({
  status: z.enum(STATUSES, `must be one of ${STATUSES.join(', ')}`).optional(),
  kind: z.string().regex(NAME, `must match ${NAME.source}`).optional(),
  subject: z
    .string()
    .refine((text) => text !== '' && [...text].length <= 255, 'must have 1 to 255 characters')
    .refine((text) => textFlaw(text) === undefined, { error: ({ input }) => textFlaw(input) })
    .optional(),
  created_after: queryTime.optional(),
  created_before: queryTime.optional(),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|1\d\d|200)$/, 'must be a whole number from 1 to 200')
    .transform(Number)
    .default(50),
  cursor: z.string().optional(),
  counts: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .default(false),
});

/** @throws ProblemError for an unknown filter, one given twice or with a wrong value, or a cursor of another listing */
export function listingOf(event: HttpEvent): { readonly listing: Listing; readonly counted: boolean } {
  const { limit, cursor, counts: counted, ...query } = queryOf(event, listQuery);
  const { status, kind, subject, created_after: createdAfter, created_before: createdBefore } = query;
  const filter: Filter = { status, kind, subject, createdAfter, createdBefore };
  const from = cursor === undefined ? undefined : decodeCursor(cursor, bound(filter));
  if (cursor !== undefined && from === undefined) {
    throw new ProblemError(
      'invalid-cursor',
      'Send next_cursor as a page gave it, with the same filters; or leave it out to begin with the newest.',
    );
  }
  return { listing: { ...filter, limit, from }, counted };
}

export function cursorAfter(filter: Filter, next: string): string {
  return encodeCursor(next, bound(filter));
}

/** What a cursor holds good for: a page of another filter would leave out what lies before it there. */
function bound({ status, kind, subject, createdAfter, createdBefore }: Filter): unknown[] {
  return [status, kind, subject, createdAfter, createdBefore];
}
