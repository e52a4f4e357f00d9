import { redriveRequest } from '../functions/manage/redrive-request.ts';
import { NAME } from '../functions/queue/contract.ts';
import { batchRequest, jobRequest } from '../functions/queue/job-request.ts';
import { type JsonSchema, refTo, requestSchema } from './json-schema.ts';
import { type Words, worded } from './words.ts';

const KEY_WORDS = { type: 'string', minLength: 1, maxLength: 255 };
const TIME_WORDS = { type: 'string', format: 'date-time' };

const jobWords: Words = {
  kind: {
    description: 'What sort of job: one that the deployment has a contract for, which its `payload` must fit.',
    type: 'string',
    pattern: NAME.source,
    examples: ['hello.greet'],
  },
  payload: {
    description: 'Any JSON that fits the contract; 256 KiB as compact JSON unless the deployment set another bound.',
    examples: [{ name: 'Ada' }],
  },
  queue: {
    description: 'The lane it goes to. Default: that of its kind, which is `default` unless it says otherwise.',
  },
  subject: { description: 'Your own id for what the job is about; `GET /jobs?subject=` finds it.', ...KEY_WORDS },
  priority: { description: 'Higher goes first.', default: 0 },
  run_at: { description: 'When it is due: RFC 3339 with zone, at most ten years ahead. Default: now.', ...TIME_WORDS },
  delay_seconds: { description: 'In how many seconds it is due, in place of `run_at`.' },
  max_attempts: {
    description: 'Attempts until it is dead. Default: those of its kind, which are 5 unless it says otherwise.',
  },
  idempotency_key: { description: 'As the header `Idempotency-Key`.', ...KEY_WORDS },
  unique_key: { description: 'At most one job of this kind and key is pending.', ...KEY_WORDS },
  unique_while: {
    description: '`pending`: a job that runs already does not count. `live`: it does.',
    default: 'pending',
  },
  replace: { description: "What the pending job of the same `unique_key` takes over of this request's." },
};

const redriveWords: Words = {
  kind: { description: 'Only jobs of this kind.' },
  error: { description: 'Only jobs whose last error has this in its name or message, in upper or lower case.' },
  dead_after: { description: 'Only jobs that became dead at this time or later.', ...TIME_WORDS },
  dead_before: { description: 'Only jobs that became dead before this time.', ...TIME_WORDS },
  limit: { description: 'Jobs of a call.' },
  cursor: { description: '`next_cursor` of the call before, with the same filters.' },
  dry_run: { description: 'Only counts.' },
};

const batchWords: Words = {
  jobs: { description: 'They are put in, and answered, in this order.', items: refTo('NewJob') },
};

/** Bodies that requests send, by their names in the document. */
export const REQUESTS = {
  NewJob: { ...worded(requestSchema(jobRequest), jobWords), required: ['kind', 'payload'] },
  NewBatch: worded(requestSchema(batchRequest), batchWords),
  RedriveFilter: {
    ...worded(requestSchema(redriveRequest), redriveWords),
    anyOf: ['kind', 'error', 'dead_after', 'dead_before'].map((name) => ({ required: [name] })),
  },
} satisfies Record<string, JsonSchema>;

export type RequestName = keyof typeof REQUESTS;
