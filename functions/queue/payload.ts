import type * as z from 'zod';
import { $ZodAsyncError } from 'zod/v4/core';
import { MillraceError } from './errors.ts';
import { flawsOfIssues } from './zod-flaws.ts';

/** A stored payload does not fit its kind's contract (any more): contracts change while jobs wait, so it is retried. */
export class PayloadError extends MillraceError {
  static override readonly name: string = 'PayloadError';
  readonly code = 'payload';
}

/**
 * The payload as the contract reads it. A promise only if the schema has asynchronous parts.
 * @throws PayloadError naming each field, or what a refinement or transform of the schema threw
 */
export function parsePayload(schema: z.ZodType, payload: unknown): unknown | Promise<unknown> {
  try {
    return fitting(schema.safeParse(payload));
  } catch (error) {
    if (error instanceof $ZodAsyncError) return schema.safeParseAsync(payload).then(fitting);
    throw error;
  }
}

function fitting(parsed: z.ZodSafeParseResult<unknown>): unknown {
  if (parsed.success) return parsed.data;
  const flaws = flawsOfIssues(parsed.error.issues).map(({ pointer, detail }) => `${pointer || 'payload'}: ${detail}`);
  throw new PayloadError(`the payload does not fit its contract: ${flaws.join('; ')}`);
}
