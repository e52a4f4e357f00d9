import { PROBLEMS, type ProblemName } from '../functions/lambda/problems.ts';
import { type Recorded, recorded } from './examples.ts';
import { type JsonSchema, refTo } from './json-schema.ts';
import type { Answer } from './operations.ts';

/** Headers of answers, by their names in the document. */
export const HEADERS = {
  RequestId: {
    name: 'X-Request-Id',
    description: 'That of the request, or the one it was given. The log and the job have it.',
    schema: { type: 'string', maxLength: 128 },
  },
  Location: { name: 'Location', description: 'Path of the job.', schema: { type: 'string', format: 'uri-reference' } },
  IdempotencyReplayed: {
    name: 'Idempotency-Replayed',
    description: 'There if the idempotency key was known.',
    schema: { type: 'string', const: 'true' },
  },
  Link: {
    name: 'Link',
    description: 'The next page, `</jobs?…>; rel="next"`, if there is one.',
    schema: { type: 'string' },
  },
  WaitAgain: {
    name: 'Retry-After',
    description: 'There if too many wait already: seconds until it may be asked again.',
    schema: { type: 'integer', minimum: 1 },
  },
  RetryAfter: {
    name: 'Retry-After',
    description: 'Seconds until the same may be sent again.',
    schema: { type: 'integer', minimum: 1 },
  },
  Accept: { name: 'Accept', description: 'The content type to send.', schema: { type: 'string' } },
  AcceptEncoding: { name: 'Accept-Encoding', description: 'The content encoding to send.', schema: { type: 'string' } },
} as const satisfies Record<string, { name: string; description: string; schema: JsonSchema }>;
export type HeaderName = keyof typeof HEADERS;

export type Response = Record<string, unknown>;

/** What the gateway itself says, by the name of its example. HTTP APIs have no other form for it. */
export const GATEWAY = {
  'no-token': { status: 401, message: 'Unauthorized', why: 'There was no `Authorization` header' },
  'unknown-token': { status: 403, message: 'Forbidden', why: 'The token is not known, or has expired' },
  'gateway-too-large': { status: 413, message: 'Request Entity Too Large', why: 'The body has more than 10 MB' },
  throttled: { status: 429, message: 'Too Many Requests', why: 'More requests than the API takes' },
  'gateway-failed': { status: 500, message: 'Internal Server Error', why: 'The function ended without an answer' },
  'gateway-unavailable': { status: 503, message: 'Service Unavailable', why: 'The function took too long' },
} as const;
export type GatewayCase = keyof typeof GATEWAY;

/** `of` has the bodies that are shown. */
export function answer({ status, description, schema, headers = [], examples = [] }: Answer, of: Recorded): Response {
  return {
    description,
    headers: headersOf(['RequestId', ...(headers as HeaderName[])]),
    ...(schema !== undefined && {
      content: {
        [schema === 'text' ? 'text/plain' : 'application/json']: {
          schema: schemaOf(schema),
          ...(examples.length > 0 && { examples: examplesOf(status, examples, of) }),
        },
      },
    }),
  };
}

function schemaOf(schema: NonNullable<Answer['schema']>): JsonSchema {
  if (schema === 'text') return { type: 'string' };
  if (schema === 'json') return { type: 'object' };
  return typeof schema === 'string' ? refTo(schema) : { anyOf: schema.map(refTo) };
}

const HEADERS_OF: Readonly<Record<number, readonly HeaderName[]>> = { 415: ['Accept', 'AcceptEncoding'] };

/** One status: the problems and the words of the gateway that come with it. */
export function failure(
  status: number,
  problems: readonly ProblemName[],
  gateway: readonly GatewayCase[],
  of: Recorded,
): Response {
  const reasons = [
    ...problems.map((name) => `\`${name}\`: ${PROBLEMS[name].title}`),
    ...gateway.map((name) => `From the gateway: ${GATEWAY[name].why}`),
  ];
  const retried = problems.some((name) => 'retryAfterSeconds' in PROBLEMS[name]);
  return {
    description: reasons.map((reason) => `${reason}.`).join('\n\n'),
    ...(problems.length > 0 && {
      headers: headersOf(['RequestId', ...(retried ? (['RetryAfter'] as const) : []), ...(HEADERS_OF[status] ?? [])]),
    }),
    content: {
      ...(problems.length > 0 && {
        'application/problem+json': { schema: refTo('Problem'), examples: examplesOf(status, problems, of) },
      }),
      ...(gateway.length > 0 && {
        'application/json': {
          schema: refTo('Message'),
          examples: Object.fromEntries(
            gateway.map((name) => [name, { summary: GATEWAY[name].why, value: { message: GATEWAY[name].message } }]),
          ),
        },
      }),
    },
  };
}

function examplesOf(status: number, names: readonly string[], of: Recorded): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { value: of[`${status} ${name}`] }]));
}

function headersOf(names: readonly HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [HEADERS[name].name, { $ref: `#/components/headers/${name}` }]));
}

const common = recorded('common');

/** Answers that are the same of every route. */
export const RESPONSES = {
  NoToken: failure(401, [], ['no-token'], common),
  Throttled: failure(429, [], ['throttled'], common),
  Failed: failure(500, ['internal-error'], ['gateway-failed'], common),
  Unavailable: failure(503, ['database-unavailable', 'schema-outdated', 'timeout'], ['gateway-unavailable'], common),
  GatewayFailed: failure(500, [], ['gateway-failed'], common),
  GatewayUnavailable: failure(503, [], ['gateway-unavailable'], common),
} satisfies Record<string, Response>;
