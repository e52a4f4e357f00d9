import type { Operation } from '../operations.ts';

const NOW = { kind: 'hello.greet', payload: { name: 'Ada' } };

const KEYS = `**Idempotency.** With an \`Idempotency-Key\` header, or \`idempotency_key\` in the body, sending the same again makes no second
job: the same key, kind and payload answer 200 with the first job, also when it has long ended, and \`Idempotency-Replayed: true\`;
another payload is a 422. Keys are kept as long as the job's record, and 24 hours at least.

**Unique keys.** With \`unique_key\` at most one job of the kind and key is *pending*: a second request answers the first one's
job. A job that runs already does not count, so that what changed meanwhile gets a run of its own, unless
\`unique_while\` is \`live\`. \`replace\` lets the pending job take over this request's payload or time.`;

export const enqueueOperations = {
  'POST /jobs': {
    id: 'enqueue',
    tag: 'enqueue',
    summary: 'Enqueue a job',
    description: `Once it is answered with 201 the job is stored, and ends in exactly one of \`completed\`, \`dead\` or \`cancelled\`.\n\n${KEYS}`,
    parameters: ['IdempotencyKey'],
    body: {
      schema: 'NewJob',
      examples: {
        now: { summary: 'To run now', value: NOW },
        later: {
          summary: 'In an hour, before others, about something of yours',
          value: { ...NOW, delay_seconds: 3600, priority: 3, subject: 'invoice:7' },
        },
        keyed: { summary: 'Safe to send again', value: { ...NOW, idempotency_key: 'order-1042-greeting' } },
        unique: {
          summary: 'At most one of them waiting, with the latest payload',
          value: { ...NOW, delay_seconds: 3600, unique_key: 'customer:7', replace: ['payload'] },
        },
      },
    },
    answers: [
      {
        status: 201,
        description: 'A new job. Should it not be readable at once, only its id and kind are told.',
        schema: ['EnqueuedJob', 'AcknowledgedJob'],
        headers: ['Location'],
        examples: ['created', 'unread'],
      },
      {
        status: 200,
        description: 'No new job: the one that was there already.',
        schema: ['EnqueuedJob', 'AcknowledgedJob'],
        headers: ['Location', 'IdempotencyReplayed'],
        examples: ['replayed', 'pruned', 'kept', 'replaced'],
      },
    ],
    problems: [
      'not-json',
      'key-in-use',
      'too-large',
      'unsupported-media-type',
      'invalid-job',
      'unknown-kind',
      'unstorable-value',
      'idempotency-key-reused',
    ],
    database: true,
  },
  'POST /jobs/batch': {
    id: 'enqueueBatch',
    tag: 'enqueue',
    summary: 'Enqueue up to 1,000 jobs',
    description:
      'All of them or none, in one transaction. Each item is as the body of `POST /jobs`, with keys of its own. The body may have 4 MB.\n\n' +
      'A bad item makes it a 422: `errors` names each one by its `index`.',
    body: {
      schema: 'NewBatch',
      examples: {
        two: {
          summary: 'Two jobs',
          value: { jobs: [NOW, { kind: 'hello.greet', payload: { name: 'Grace' }, delay_seconds: 3600 }] },
        },
      },
    },
    answers: [
      {
        status: 201,
        description: 'At least one new job.',
        schema: 'EnqueuedBatch',
        examples: ['created'],
      },
      {
        status: 200,
        description: 'No new job: all were there already.',
        schema: 'EnqueuedBatch',
        examples: ['replayed'],
      },
    ],
    problems: [
      'not-json',
      'key-in-use',
      'too-large',
      'unsupported-media-type',
      'invalid-job',
      'idempotency-key-reused',
    ],
    database: true,
  },
} as const satisfies Record<string, Operation>;
