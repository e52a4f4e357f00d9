import * as z from 'zod';
import { NAME } from './contract.ts';
import { MAX_JOBS } from './enqueue.ts';
import { MAX_AHEAD_SECONDS } from './run-at.ts';

const name = z.string('must be a string').regex(NAME, `must match ${NAME.source}`);
/** Characters, as char_length counts them, not UTF-16 units. */
const text = z
  .string('must be a string')
  .refine((value) => value !== '' && [...value].length <= 255, 'must have 1 to 255 characters');

function whole(min: number, max: number) {
  const must = `must be a whole number from ${min} to ${max}`;
  return z.int(must).min(min, must).max(max, must);
}

const SECONDS = `must be a number from 0 to ${MAX_AHEAD_SECONDS} (ten years)`;
const REPLACE = 'must be an array of payload, run_at or both';

/** A job on the wire. Its bounds are those of the table's CHECKs (migrations/0001 and 0006). */
export const jobRequest = z
  .strictObject({
    // validate.ts looks at it, and its answer names the kinds.
    kind: z.unknown().optional(),
    payload: z.unknown(),
    queue: name.optional(),
    subject: text.optional(),
    priority: whole(-5, 5).optional(),
    run_at: z.string('must be a string').optional(),
    delay_seconds: z.number(SECONDS).min(0, SECONDS).max(MAX_AHEAD_SECONDS, SECONDS).optional(),
    max_attempts: whole(1, 1000).optional(),
    idempotency_key: text.optional(),
    unique_key: text.optional(),
    unique_while: z.enum(['pending', 'live'], 'must be pending or live').optional(),
    replace: z.array(z.enum(['payload', 'run_at'], 'must be payload or run_at'), REPLACE).optional(),
  })
  .refine((job) => job.run_at === undefined || job.delay_seconds === undefined, {
    path: ['delay_seconds'],
    error: 'excludes run_at: send one of the two',
  })
  .refine((job) => job.unique_key !== undefined || (job.unique_while ?? job.replace) === undefined, {
    path: ['unique_key'],
    error: 'is missing, which unique_while and replace need',
  });

export const JOB_FIELDS: readonly string[] = Object.keys(jobRequest.shape);

const JOBS = `must be an array of 1 to ${MAX_JOBS} jobs`;

/** Many of them. Each is looked at on its own, so that every bad one is named. */
export const batchRequest = z.strictObject({ jobs: z.array(z.unknown(), JOBS).min(1, JOBS).max(MAX_JOBS, JOBS) });
