import type { Operation } from '../operations.ts';

export const observeOperations = {
  'GET /health': {
    id: 'health',
    tag: 'observe',
    summary: 'Whether the API answers',
    description: 'Open to everybody. Touches nothing behind it, so it is well when all of that is down.',
    answers: [{ status: 200, description: 'It answers.', schema: 'Health', examples: ['ok'] }],
    database: false,
  },
  'GET /ready': {
    id: 'ready',
    tag: 'observe',
    summary: 'Whether jobs can be put in and worked on',
    description: `503 for the database or its schema only. A lag, a pause or a kind that no worker claims stands in the body: it is no reason to
take the API away. With \`include=database\` it also says how the database is.`,
    parameters: ['IncludeDatabase'],
    answers: [
      { status: 200, description: 'It is ready.', schema: 'Readiness', examples: ['ready', 'paused', 'database'] },
    ],
    problems: ['invalid-query'],
    database: true,
  },
  'GET /metrics': {
    id: 'metrics',
    tag: 'observe',
    summary: 'Metrics for Prometheus',
    description: `Of the whole queue, read from the database: jobs by kind and status, age of the oldest due job by kind, and counters of
what happened. At most 1,000 kinds.`,
    answers: [
      { status: 200, description: 'Prometheus text, version 0.0.4.', schema: 'text', examples: ['exposition'] },
    ],
    database: true,
  },
  'GET /openapi.json': {
    id: 'openapi',
    tag: 'observe',
    summary: 'This document',
    description: 'What the API takes and answers, as OpenAPI 3.1.',
    answers: [{ status: 200, description: 'The document.', schema: 'json' }],
    database: false,
  },
} as const satisfies Record<string, Operation>;
