import type * as z from 'zod';
import { getQuery } from '../functions/jobs-read/get-query.ts';
import { listQuery } from '../functions/jobs-read/list-query.ts';
import { REQUEST_ID } from '../functions/lambda/request-id.ts';
import { NAME } from '../functions/queue/contract.ts';
import { readyQuery } from '../functions/ready/ready-query.ts';
import { type JsonSchema, requestSchema } from './json-schema.ts';
import { type Words, worded } from './words.ts';

const TIME = { type: 'string', format: 'date-time' };

const listWords: Words = {
  status: { description: 'Only jobs in this state.' },
  kind: { description: 'Only jobs of this kind.', examples: ['hello.greet'] },
  subject: {
    description: 'Only jobs about this.',
    type: 'string',
    minLength: 1,
    maxLength: 255,
    examples: ['invoice:7'],
  },
  created_after: {
    description: 'Only jobs created at this time or later, by the time that is in their ids (milliseconds).',
    ...TIME,
    examples: ['2026-03-01T09:00:00Z'],
  },
  created_before: {
    description: 'Only jobs created before this time, by the time that is in their ids (milliseconds).',
    ...TIME,
    examples: ['2036-03-01T09:00:00Z'],
  },
  limit: { description: 'Jobs of a page.', type: 'integer', minimum: 1, maximum: 200, default: 50 },
  cursor: { description: '`next_cursor` of a page, with the filters of that page.' },
  counts: {
    description: 'Also counts the jobs that fit the filters, by status.',
    type: 'boolean',
    default: false,
  },
};

const getWords: Words = {
  include: {
    description: 'Adds these to the answer. Takes the role `reader` or `operator`.',
    type: 'array',
    items: { type: 'string', enum: ['payload', 'result'] },
    examples: [['payload', 'result']],
  },
  wait: {
    description: 'Seconds to hold the answer for while the job has not ended.',
    type: 'integer',
    minimum: 0,
    maximum: 20,
    default: 0,
    examples: [1],
  },
};

const readyWords: Words = {
  include: {
    description: 'Adds this to the answer.',
    type: 'string',
    enum: ['database'],
    examples: ['database'],
  },
};

export type Parameter = Readonly<Record<string, unknown>> & { readonly name: string };

/** Parameters of the query, of every schema that a handler reads its query by. */
function query(schema: z.ZodType, words: Words): Record<string, Parameter> {
  const { properties } = worded(requestSchema(schema), words);
  return Object.fromEntries(
    Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, { description, ...rest }]) => [
      name,
      // A list is one parameter, divided by commas.
      { name, in: 'query', description, ...(rest.type === 'array' && { style: 'form', explode: false }), schema: rest },
    ]),
  );
}

const header = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'header',
  description,
  schema,
});

const inPath = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
});

export const PARAMETERS: Readonly<Record<string, Parameter>> = {
  ...query(listQuery, listWords),
  ...query(getQuery, getWords),
  // Another include than that of a job.
  IncludeDatabase: query(readyQuery, readyWords).include as Parameter,
  IdempotencyKey: header(
    'Idempotency-Key',
    'Makes the request safe to send again: a name for this job that no other job of its kind has. The same as `idempotency_key`.',
    { type: 'string', minLength: 1, maxLength: 255, examples: ['order-1042-greeting'] },
  ),
  JobId: inPath('id', 'Id of the job.', { type: 'string', format: 'uuid' }),
  QueueName: inPath('name', 'Name of the queue.', { type: 'string', pattern: NAME.source, examples: ['default'] }),
  KindName: inPath('name', 'Name of the kind.', { type: 'string', pattern: NAME.source, examples: ['hello.greet'] }),
  ScheduleName: inPath('name', 'Name of the schedule.', {
    type: 'string',
    pattern: NAME.source,
    examples: ['report.nightly'],
  }),
  RequestId: header(
    'X-Request-Id',
    'Finds this request in the answer, the logs and the job. Left out, or of another form: the gateway makes one.',
    { type: 'string', pattern: REQUEST_ID.source, examples: ['order-1042'] },
  ),
  Traceparent: header(
    'traceparent',
    'W3C Trace Context: goes into the logs, the job and its attempts. One that is not valid is ignored.',
    { type: 'string', maxLength: 255, examples: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'] },
  ),
};
