import type { Operation } from '../operations.ts';

export const readOperations = {
  'GET /jobs': {
    id: 'listJobs',
    tag: 'read',
    summary: 'List jobs',
    description: `Newest first, without payloads and results. Filters combine. Pages neither miss nor repeat a job, whatever is enqueued or
moves on meanwhile; a \`cursor\` goes with the filters that it was given for.`,
    parameters: ['status', 'kind', 'subject', 'created_after', 'created_before', 'limit', 'cursor', 'counts'],
    answers: [
      {
        status: 200,
        description: 'A page.',
        schema: 'JobPage',
        headers: ['Link'],
        examples: ['page', 'last', 'counted'],
      },
    ],
    problems: ['invalid-query', 'invalid-cursor'],
    database: true,
  },
  'GET /jobs/{id}': {
    id: 'getJob',
    tag: 'read',
    summary: 'Read a job',
    description: `The job in whatever state, with its failed attempts. \`wait\` holds the answer until the job ends or the time is up,
whichever comes first: look at \`status\`. Where too many wait already, it is answered at once with \`Retry-After\`.
\`include\` takes the role \`reader\` or \`operator\`.`,
    parameters: ['include', 'wait'],
    answers: [
      {
        status: 200,
        description: 'The job.',
        schema: 'Job',
        headers: ['WaitAgain'],
        examples: ['pending', 'processing', 'completed', 'dead', 'waited', 'busy'],
      },
    ],
    problems: ['invalid-id', 'invalid-query', 'no-such-job', 'too-large'],
    database: true,
  },
} as const satisfies Record<string, Operation>;
