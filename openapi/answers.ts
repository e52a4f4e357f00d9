import * as z from 'zod';
import { PROBLEMS } from '../functions/lambda/problems.ts';
import { STATUSES } from '../functions/queue/job.ts';
import { FIRE_OUTCOMES } from '../functions/queue/list-schedules.ts';

/*
 * What the API answers with. Strict, so that a member which nobody described fails the tests; in the document they are
 * open, for members may be added.
 */

const id = z.guid();
/** Microseconds and Z, as the database writes them. */
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  .meta({ format: 'date-time' });
/** Milliseconds, by the clock of a worker. */
const workerTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time' });

const attemptError = z.strictObject({
  attempt: z.int().min(1).describe('Which attempt it was, from 1.'),
  started_at: workerTime.optional().describe('By the clock of the worker.'),
  failed_at: workerTime.optional().describe('By the clock of the worker.'),
  name: z
    .string()
    .describe('Class of what was thrown. `DeadlineError`: it took too long; `LeaseExpired`: its worker died.'),
  message: z.string().describe('`sealed` for producers, if the kind has a codec.'),
  stack: z.string().optional().describe('Only where one job is read.'),
  where: z.string().optional().describe('Which run: the function, its request and log stream, or host and process.'),
});

const progress = z.strictObject({
  fraction: z.number().min(0).max(1).describe('From 0 to 1.'),
  note: z.string().max(500).nullable(),
  updated_at: time,
});

const view = {
  id: id.describe('A version 7 UUID unless SQL gave it another; orders jobs by their creation.'),
  kind: z.string(),
  queue: z.string(),
  subject: z.string().nullable().describe("The caller's own id for what the job is about."),
  status: z
    .enum(STATUSES)
    .describe('`pending` waits (also between attempts), `processing` runs; the others are the three ends.'),
  priority: z.int().min(-5).max(5).describe('Higher goes first.'),
  attempts: z.int().min(0).describe('Attempts begun so far. One that a drain or a deploy cut short does not count.'),
  max_attempts: z.int().min(1).describe('It is dead when so many have failed.'),
  run_at: time.describe('When it is due, or was when it last started.'),
  created_at: time,
  started_at: time.nullable().describe('Begin of the latest attempt.'),
  finished_at: time.nullable().describe('When it ended: completed, dead or cancelled.'),
  cancel_requested_at: time.nullable().describe('Somebody asked for the running job to stop.'),
  request_id: z
    .string()
    .nullable()
    .describe(
      '`X-Request-Id` of the request that put it in; `schedule/<name>/<fire time>` of what a schedule has made.',
    ),
  idempotency_key: z.string().nullable(),
  unique_key: z.string().nullable(),
  progress: progress
    .nullable()
    .describe('What its processor last said; null until it says something, and once the job has ended.'),
};

const errors = z.array(attemptError).max(20).describe('The last 20 failed attempts, oldest first.');
const job = z.strictObject({
  ...view,
  errors,
  payload: z.unknown().optional().describe('As it was sent. Only with `include=payload`.'),
  result: z.unknown().optional().describe('What its processor returned, else null. Only with `include=result`.'),
});

const listedJob = z.strictObject({
  ...view,
  last_error: attemptError.nullable().describe('The last failed attempt, without its stack.'),
});

const jobPage = z.strictObject({
  jobs: z.array(listedJob).describe('Newest first.'),
  next_cursor: z.string().nullable().describe('Send it as `cursor` for the next page; null: this is the last one.'),
  counts: z
    .strictObject(Object.fromEntries(STATUSES.map((status) => [status, z.int().min(0).max(1000).optional()])))
    .optional()
    .describe('Only with `counts=true`: jobs that fit the filters, by status.'),
  counts_limit: z.literal(1000).optional().describe('A count of 1000 means that many or more.'),
});

const outcome = z
  .enum(['created', 'replayed', 'kept', 'replaced'])
  .describe(
    '`created`: a new job. `replayed`: the idempotency key is known, this is its job. ' +
      '`kept`: a job with the same unique key was there, this is it. ' +
      '`replaced`: likewise, and it took over the payload or time of this request.',
  );

const enqueuedJob = z.strictObject({ ...view, errors, outcome });

const acknowledgedJob = z.strictObject({
  id,
  kind: z.string(),
  outcome,
  pruned: z.literal(true).optional().describe('Its record is gone: it ended longer ago than records are kept.'),
});

const batch = z.strictObject({
  jobs: z
    .array(z.strictObject({ id, outcome, pruned: acknowledgedJob.shape.pruned }))
    .describe('One for each item, in their order.'),
});

const redriven = z.strictObject({
  redriven: z.int().min(0).describe('Dead jobs that are pending again.'),
  skipped: z.int().min(0).describe('Left dead: a job with the same unique key is pending, or about to be.'),
  next_cursor: z.string().nullable().describe('Send it as `cursor` with the same filter to go on; null: all done.'),
});

const matched = z.strictObject({
  matched: z.int().min(0).describe('Dead jobs that would be redriven.'),
  next_cursor: redriven.shape.next_cursor,
});

const paused = z.boolean().describe('Whether workers leave its jobs alone. Jobs that run already go on.');
const pausedQueue = z.strictObject({ queue: z.string(), paused });
const pausedKind = z.strictObject({ kind: z.string(), paused });
const pausedSchedule = z.strictObject({
  schedule: z.string(),
  paused: z.boolean().describe('Whether its fire times pass without a job. Jobs that it made already go on.'),
});

const schedule = z.strictObject({
  name: z.string(),
  cron: z.string().nullable().describe('When it fires, as it is declared: this, or `every`.'),
  every: z
    .string()
    .nullable()
    .describe('How long from one fire time to the next, such as `5m`: counted from 1970-01-01T00:00:00Z.'),
  zone: z.string().nullable().describe('IANA name of the time zone that `cron` is meant in; null with `every`.'),
  kind: z.string().describe('Kind of the jobs that it makes.'),
  queue: z.string(),
  catch_up: z
    .enum(['latest', 'all', 'none'])
    .describe('Which fire times count that passed while no worker was there: the latest of them, all, or none.'),
  overlap: z
    .enum(['skip', 'allow'])
    .describe('`skip`: no job is made while one that it made is pending or processing; `allow`: it is.'),
  paused: z.boolean(),
  next_fire_at: time
    .nullable()
    .describe('As the worker that declared it last worked it out. In the past: no worker was there since.'),
  last_fire_at: time.nullable().describe('The last fire time that came, whatever became of it.'),
  last_outcome: z
    .enum(FIRE_OUTCOMES)
    .nullable()
    .describe(
      '`fired`: a job. None, for `overlap`: one was live; `paused`: the schedule was; `missed`: it passed while no worker was there, and is not made up for.',
    ),
  last_job_id: id.nullable().describe('Job of the last fire time that made one.'),
  declared_at: time.describe(
    'When a worker last said that its code has this schedule: each does when a run begins, and it is noted each five minutes.',
  ),
});

const schedules = z.strictObject({ schedules: z.array(schedule).describe('By name.') });

const health = z.strictObject({ status: z.literal('ok') });

const vitals = z.strictObject({
  postgres_version: z.string(),
  tls: z.string().nullable().describe('Version of TLS between the API and the database; null: it is not encrypted.'),
  connections: z.int().min(0).describe('Connections of clients to the server.'),
  database_connections: z.int().min(0).describe('Those of them to this database.'),
  max_connections: z.int().min(1),
  xmin_age: z
    .number()
    .min(0)
    .describe('Transactions since the oldest snapshot that is still held: what was deleted since cannot be vacuumed.'),
  autovacuum: z.boolean().describe('Whether the server vacuums by itself.'),
  autovacuum_off: z.array(z.string()).describe('Tables of the queue for which that is switched off.'),
  last_autovacuum_at: time
    .nullable()
    .describe('When it last vacuumed the live jobs; null: not since statistics began.'),
  dead_rows: z.number().min(0).describe('Dead rows of the live jobs, estimated.'),
  partition_days_ahead: z.number().min(0).describe('Days from now on for which there is a partition a day.'),
});

const readiness = z.strictObject({
  status: z.literal('ready'),
  schema_version: z.int().min(1).describe('Number of the newest migration that was applied.'),
  lag_seconds: z.number().min(0).describe('Seconds since the oldest due job became due; 0 if none is.'),
  paused: z.array(z.strictObject({ scope: z.enum(['queue', 'kind', 'schedule']), name: z.string() })),
  unclaimed_kinds: z
    .array(z.string())
    .max(100)
    .describe('Kinds with a due job that no worker of the last two minutes has.'),
  unclaimed_queues: z
    .array(z.string())
    .max(100)
    .describe('Queues with a pending job that no worker of the last two minutes serves.'),
  last_worker_at: time.nullable().describe('When a worker last said that it is there; null: never.'),
  database: vitals.optional().describe('How the database is. Only with `include=database`.'),
});

const types = Object.keys(PROBLEMS).map((name) => `urn:millrace:problem:${name}`);
const problem = z
  .strictObject({
    type: z.enum(types).describe('Stable: programs match on it. docs/problems.md says of each what to do.'),
    title: z.string(),
    status: z.int().describe('The HTTP status again.'),
    detail: z.string().describe('For people: what was expected, what came, what to do.'),
    request_id: z.string().describe('`X-Request-Id` again; the log has it.'),
    errors: z
      .array(
        z.strictObject({
          index: z.int().min(0).optional().describe('Of a batch: which item, from 0.'),
          pointer: z.string().describe('JSON pointer (RFC 6901) to the field or parameter; empty: the whole.'),
          detail: z.string().describe('The rest of a sentence that begins with that place.'),
        }),
      )
      .optional()
      .describe('What is wrong, place by place.'),
    job_status: z.enum(STATUSES).optional().describe('Of `wrong-state`: the state that the job is in.'),
    job_id: id
      .optional()
      .describe('Of `unique-key-taken`: the pending job. Of `schedule-overlap`: the job that has not ended.'),
  })
  .describe('A problem as RFC 9457 has it.');

const message = z
  .strictObject({ message: z.string() })
  .describe('What the gateway itself says: its answers cannot have another form.');

/** By their names in the document. */
export const ANSWERS = {
  Job: job,
  ListedJob: listedJob,
  JobPage: jobPage,
  AttemptError: attemptError,
  Progress: progress,
  EnqueuedJob: enqueuedJob,
  AcknowledgedJob: acknowledgedJob,
  EnqueuedBatch: batch,
  Redriven: redriven,
  Matched: matched,
  PausedQueue: pausedQueue,
  PausedKind: pausedKind,
  PausedSchedule: pausedSchedule,
  Schedule: schedule,
  Schedules: schedules,
  Health: health,
  Readiness: readiness,
  Vitals: vitals,
  Problem: problem,
  Message: message,
} satisfies Record<string, z.ZodType>;

export type AnswerName = keyof typeof ANSWERS;

export const answerRegistry = z.registry<{ id: string }>();
for (const [name, schema] of Object.entries(ANSWERS)) answerRegistry.add(schema, { id: name });
