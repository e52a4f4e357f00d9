import type { Operation } from '../operations.ts';

const pause = (what: 'queue' | 'kind', schema: 'PausedQueue' | 'PausedKind', verb: 'pause' | 'resume') =>
  ({
    id: `${verb}${what === 'queue' ? 'Queue' : 'Kind'}`,
    tag: 'operate',
    summary: `${verb === 'pause' ? 'Pause' : 'Resume'} a ${what}`,
    description: `${
      verb === 'pause'
        ? 'Its jobs are claimed no more from the next claim on; those that run go on. Jobs can still be enqueued.'
        : 'Its jobs are claimed again.'
    } A ${what} that has no jobs yet can be named too. Doing it twice changes nothing.`,
    answers: [
      { status: 200, description: 'It is so now.', schema, examples: [verb === 'pause' ? 'paused' : 'resumed'] },
    ],
    problems: ['invalid-name'],
    database: true,
  }) as const satisfies Operation;

export const operateOperations = {
  'POST /jobs/{id}/cancel': {
    id: 'cancelJob',
    tag: 'operate',
    summary: 'Cancel a job',
    description: `A pending job is cancelled at once. A running one is asked to stop: its signal fires within about a second, and it ends as
\`cancelled\` unless it completes first.`,
    answers: [
      { status: 200, description: 'It is cancelled.', schema: 'Job', examples: ['cancelled'] },
      { status: 202, description: 'It runs, and was asked to stop.', schema: 'Job', examples: ['requested'] },
    ],
    problems: ['invalid-id', 'no-such-job', 'wrong-state', 'key-in-use'],
    database: true,
  },
  'POST /jobs/{id}/redrive': {
    id: 'redriveJob',
    tag: 'operate',
    summary: 'Send a dead job round again',
    description: 'It becomes pending and due, with all its attempts before it; its errors are kept.',
    answers: [{ status: 200, description: 'It is pending.', schema: 'Job', examples: ['redriven'] }],
    problems: ['invalid-id', 'no-such-job', 'wrong-state', 'key-in-use', 'unique-key-taken'],
    database: true,
  },
  'POST /jobs/redrive': {
    id: 'redriveJobs',
    tag: 'operate',
    summary: 'Send dead jobs round again, by filter',
    description: `Those that fit every filter given, oldest first, at most \`limit\` of them: send \`next_cursor\` with the same filters until it
is null. A page may redrive none and still have a next one, for a call looks at 5,000 dead jobs at most.`,
    body: {
      schema: 'RedriveFilter',
      examples: {
        try: { summary: 'How many there are', value: { kind: 'hello.greet', error: 'timeout', dry_run: true } },
        redrive: { summary: 'A hundred of them', value: { kind: 'hello.greet', error: 'timeout', limit: 100 } },
      },
    },
    answers: [
      {
        status: 200,
        description: 'What was done; of a dry run, what would be.',
        schema: ['Redriven', 'Matched'],
        examples: ['redriven', 'more', 'matched'],
      },
    ],
    problems: [
      'not-json',
      'invalid-cursor',
      'too-large',
      'unsupported-media-type',
      'unstorable-value',
      'invalid-filter',
    ],
    database: true,
  },
  'DELETE /jobs/{id}': {
    id: 'eraseJob',
    tag: 'operate',
    summary: 'Erase a finished or dead job',
    description: `Nothing of its payload, result, errors or progress stays. Its idempotency key stays, without the trace of a payload, so that a
request sent again still makes no second job.`,
    answers: [{ status: 204, description: 'It is gone.' }],
    problems: ['invalid-id', 'no-such-job', 'wrong-state'],
    database: true,
  },
  'POST /queues/{name}/pause': pause('queue', 'PausedQueue', 'pause'),
  'POST /queues/{name}/resume': pause('queue', 'PausedQueue', 'resume'),
  'POST /kinds/{name}/pause': pause('kind', 'PausedKind', 'pause'),
  'POST /kinds/{name}/resume': pause('kind', 'PausedKind', 'resume'),
} as const satisfies Record<string, Operation>;
