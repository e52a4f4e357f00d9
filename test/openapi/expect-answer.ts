import { expect } from 'vitest';
import { PROBLEMS, type Problem, type ProblemName } from '../../functions/lambda/problems.ts';
import { ANSWERS, type AnswerName } from '../../openapi/answers.ts';
import { GATEWAY, type GatewayCase } from '../../openapi/responses.ts';
import { type DocumentedAnswer, documented } from './documented.ts';

export interface Answered {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Parsed if it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at bodies of every shape
  readonly body: any;
}

/** The document has this answer of the route, whatever it was asked. `$default` has none. */
export function expectDocumented(route: string, answer: Answered): void {
  if (route === '$default') return;
  const type = answer.headers['content-type']?.includes('problem') ? String(answer.body.type) : undefined;
  const found = documented.find(
    (one) =>
      one.operation.route === route &&
      one.status === answer.status &&
      (type === undefined ? !one.isProblem : type === `urn:millrace:problem:${one.name}`),
  );
  // A gateway that lets strangers through is no case of the document: the handlers refuse them wherever they get.
  if (found === undefined && type === 'urn:millrace:problem:forbidden') return;
  if (found === undefined) expect.fail(`docs/openapi.json knows no such answer of ${route}: ${answer.text}`);
  expectAnswer(answer, found);
}

/** Headers that every HTTP answer may have; all others are documented. */
const ORDINARY = new Set([
  'apigw-requestid',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
]);

/** The answer is the documented one: status, content type, headers, and a body with no member more or less. */
export function expectAnswer(answer: Answered, documented: DocumentedAnswer): void {
  const { status, contentType, headers, name, isProblem, schema } = documented;
  expect(answer.status, answer.text).toBe(status);
  if (contentType === undefined) expect(answer.text).toBe('');
  else expect(answer.headers['content-type']?.split(';')[0]).toBe(contentType);
  expect(Object.keys(answer.headers).filter((header) => !ORDINARY.has(header) && !headers.includes(header))).toEqual(
    [],
  );
  if (headers.includes('x-request-id') && !isGateways(name)) expect(answer.headers['x-request-id']).toMatch(/./);
  if (isProblem) expectProblem(answer, name as ProblemName);
  if (schema !== undefined) expectFits(answer, schema);
}

function expectProblem({ body, headers }: Answered, name: ProblemName): void {
  const { status, title, retryAfterSeconds }: Problem = PROBLEMS[name];
  expect(body).toMatchObject({ type: `urn:millrace:problem:${name}`, status, title });
  expect(body.request_id).toBe(headers['x-request-id']);
  expect(headers['retry-after']).toBe(retryAfterSeconds?.toString());
}

/** What the gateway itself says has none of our headers, though it shares its status with what has them. */
export function isGateways(name: string | undefined): name is GatewayCase {
  return name !== undefined && Object.hasOwn(GATEWAY, name);
}

/** Held against the schemas that the document was made of: they take no member that is not described. */
function expectFits({ body, text }: Answered, schema: Readonly<Record<string, unknown>>): void {
  if (schema.type === 'string') {
    expect(text).not.toBe('');
    return;
  }
  if (schema.type === 'object') {
    expect(body).toBeTypeOf('object');
    return;
  }
  const refs = (schema.anyOf as { $ref: string }[] | undefined) ?? [schema as { $ref: string }];
  const results = refs.map(({ $ref }) => ANSWERS[$ref.split('/').at(-1) as AnswerName].safeParse(body));
  if (!results.some(({ success }) => success)) expect.fail(`${text}\n${results.map(({ error }) => error).join('\n')}`);
}
