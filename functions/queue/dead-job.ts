import * as z from 'zod';

const attemptError = z.looseObject({
  attempt: z.int(),
  started_at: z.string().optional(),
  failed_at: z.string().optional(),
  where: z.string().optional(),
  name: z.string(),
  message: z.string(),
  stack: z.string().optional(),
});

/**
 * The payload of the jobs that `onDead` puts in: the job that died, its last error, and what it was given, which is read by
 * `payload` (default: anything). It is null, whatever `payload` says, where `payload_left_out` is true: with it the whole
 * would have been larger than a payload may be.
 */
export function deadJob<Payload extends z.ZodType = z.ZodUnknown>(payload?: Payload) {
  // By what is left out, so that a misfit names its field.
  return z.discriminatedUnion('payload_left_out', [
    z.object({ ...about, payload_left_out: z.literal(false), payload: payload ?? (z.unknown() as unknown as Payload) }),
    z.object({ ...about, payload_left_out: z.literal(true), payload: z.null() }),
  ]);
}

const about = {
  id: z.string(),
  /** The name that it was put in by, which may be an alias. */
  kind: z.string(),
  queue: z.string(),
  subject: z.string().nullable(),
  /** How often it was started. */
  attempts: z.int(),
  /** ISO 8601, UTC, with microseconds. */
  created_at: z.string(),
  started_at: z.string().nullable(),
  error: attemptError,
};
