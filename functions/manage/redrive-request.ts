import * as z from 'zod';
import type { HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { jsonBody } from '../lambda/request-body.ts';
import { NAME } from '../queue/contract.ts';
import { REDRIVE_MAX, type RedriveRequest } from '../queue/redrive-many.ts';
import { parseRunAt } from '../queue/run-at.ts';
import { flawsOfIssues } from '../queue/zod-flaws.ts';
import { afterOf } from './redrive-cursor.ts';

/** A filter is some short texts. */
const BODY_MAX_BYTES = 16_384;

const time = z.string().transform((text, context) => {
  const parsed = parseRunAt(text);
  if ('runAt' in parsed) return parsed.runAt;
  context.addIssue({ code: 'custom', message: parsed.flaw });
  return z.NEVER;
});

const FILTERS = ['kind', 'error', 'dead_after', 'dead_before'] as const;

/** Body of `POST /jobs/redrive`. */
export const redriveRequest = z
  .strictObject({
    kind: z.string().regex(NAME, `must match ${NAME.source}`).optional(),
    error: z.string().min(1, 'must not be empty').max(200, 'must have at most 200 characters').optional(),
    dead_after: time.optional(),
    dead_before: time.optional(),
    limit: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(REDRIVE_MAX, `must be at most ${REDRIVE_MAX}`)
      .default(REDRIVE_MAX),
    cursor: z.string().optional(),
    dry_run: z.boolean().default(false),
  })
  .refine((body) => FILTERS.some((name) => body[name] !== undefined), {
    // Everything that is dead is rarely what somebody means who leaves out a field.
    message: `must have at least one of ${FILTERS.join(', ')}; for all that is dead send "dead_after": "1970-01-01T00:00:00Z"`,
  });

/** @throws ProblemError for a body that is no filter, a cursor of another one, or what stands in the query instead */
export function redriveRequestOf(event: HttpEvent): RedriveRequest & { readonly dryRun: boolean } {
  // Not passed over: who writes ?dry_run=true does not mean to redrive anything.
  if (event.rawQueryString) {
    throw new ProblemError(
      'invalid-filter',
      'Send the filter in the body: this route takes no query, and there is one.',
    );
  }
  const parsed = redriveRequest.safeParse(jsonBody(event, { maxBytes: BODY_MAX_BYTES }));
  if (!parsed.success) {
    throw new ProblemError('invalid-filter', 'Look at errors: each names a place in the body.', {
      flaws: flawsOfIssues(parsed.error.issues, { known: Object.keys(redriveRequest.shape) }),
    });
  }
  const { kind, error, dead_after: deadAfter, dead_before: deadBefore, limit, cursor, dry_run: dryRun } = parsed.data;
  const filter = { kind, error, deadAfter, deadBefore };
  const after = cursor === undefined ? undefined : afterOf(filter, cursor);
  if (cursor !== undefined && after === undefined) {
    throw new ProblemError(
      'invalid-cursor',
      'Send next_cursor as a page gave it, with the same filter; or leave it out to begin with the oldest.',
    );
  }
  return { filter, limit, after, dryRun };
}
