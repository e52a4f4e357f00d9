import * as z from 'zod';

const PARTS = ['payload', 'result'];

/** The query of `GET /jobs/{id}`. */
export const getQuery = z.strictObject({
  include: z
    .string()
    .transform((text) => text.split(','))
    .refine((parts) => parts.every((part) => PARTS.includes(part)), 'must name payload, result or both, by a comma')
    .default([]),
  /** Seconds that the answer is held back for the job to end. */
  wait: z
    .string()
    .regex(/^(?:1?\d|20)$/, 'must be a whole number of seconds from 0 to 20')
    .transform(Number)
    .default(0),
});
