import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../lambda/cursor.ts';
import type { HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { queryOf } from '../lambda/query.ts';
import { NAME } from '../queue/contract.ts';
import type { Listing } from '../queue/list.ts';

const STATUSES = ['pending', 'processing', 'completed', 'dead', 'cancelled'] as const;

const listQuery = z.strictObject({
  status: z.enum(STATUSES, `must be one of ${STATUSES.join(', ')}`).optional(),
  kind: z.string().regex(NAME, `must match ${NAME.source}`).optional(),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|1\d\d|200)$/, 'must be a whole number from 1 to 200')
    .transform(Number)
    .default(50),
  cursor: z.string().optional(),
});

/** @throws ProblemError for an unknown filter, one given twice or with a wrong value, or a cursor of another listing */
export function listingOf(event: HttpEvent): Listing {
  const { status, kind, limit, cursor } = queryOf(event, listQuery);
  const from = cursor === undefined ? undefined : decodeCursor(cursor, [status, kind]);
  if (cursor !== undefined && from === undefined) {
    throw new ProblemError(
      'invalid-cursor',
      'Send next_cursor as a page gave it, with the same status and kind; or leave it out to begin with the newest.',
    );
  }
  return { status, kind, limit, from };
}

export function cursorAfter({ status, kind }: Listing, next: string): string {
  return encodeCursor(next, [status, kind]);
}
