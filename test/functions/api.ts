import { randomUUID } from 'node:crypto';
import type { Context } from 'aws-lambda';
import type { HttpAnswer, HttpEvent, HttpHandler } from '../../functions/lambda/http.ts';
import type { Role } from '../../functions/lambda/role.ts';
import { matchRoute, routeOf } from '../../local/routes.ts';
import { expectDocumented } from '../openapi/expect-answer.ts';
import { expect, test as withDatabase } from '../support/fixtures.ts';

export { describe, expect } from '../support/fixtures.ts';

interface Request {
  readonly body?: string | Buffer | object;
  readonly headers?: Record<string, string>;
  /** Passes the body as API Gateway passes what it does not take for text. */
  readonly base64?: boolean;
  /** The role that the authorizer has found. Default operator; null: none was asked. */
  readonly as?: Role | null;
  /** All that the gateway's authorizer has found, in place of a role. */
  readonly authorizer?: unknown;
}

/** The answer with its body parsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at bodies of every shape
  readonly body: any;
}

export type Call = (method: string, target: string, request?: Request) => Promise<Answer>;

/** `call`: sends a request to the handler that its route names, as API Gateway would, on this test file's database. */
export const test = withDatabase.extend('call', async ({ databaseUrl }): Promise<Call> => {
  process.env.DATABASE_URL = databaseUrl;
  process.env.LOG_LEVEL = 'error';
  return (method, target, request) => call(method, target, request);
});

const enqueue = () => import('../../functions/enqueue/handler.ts');
const jobsRead = () => import('../../functions/jobs-read/handler.ts');
const manage = () => import('../../functions/manage/handler.ts');

/** Loaded at the first call: handlers read their environment then. */
const HANDLERS: Readonly<Record<string, () => Promise<{ handler: HttpHandler }>>> = {
  'POST /jobs': enqueue,
  'POST /jobs/batch': enqueue,
  'GET /jobs': jobsRead,
  'GET /jobs/{id}': jobsRead,
  'DELETE /jobs/{id}': manage,
  'POST /jobs/{id}/cancel': manage,
  'POST /jobs/{id}/redrive': manage,
  'POST /jobs/redrive': manage,
  'POST /queues/{name}/pause': manage,
  'POST /queues/{name}/resume': manage,
  'POST /kinds/{name}/pause': manage,
  'POST /kinds/{name}/resume': manage,
  'GET /schedules': jobsRead,
  'POST /schedules/{name}/pause': manage,
  'POST /schedules/{name}/resume': manage,
  'POST /schedules/{name}/fire': manage,
  'GET /health': () => import('../../functions/health/handler.ts'),
  'GET /ready': () => import('../../functions/ready/handler.ts'),
  'GET /metrics': () => import('../../functions/metrics/handler.ts'),
  'GET /openapi.json': () => import('../../functions/openapi/handler.ts'),
  $default: () => import('../../functions/fallback/handler.ts'),
};

export const ROUTE_KEYS = Object.keys(HANDLERS);
const ROUTES = ROUTE_KEYS.map((key) => routeOf(key, 30_000));

async function call(method: string, target: string, request: Request = {}): Promise<Answer> {
  const event = httpEvent(method, target, request);
  const { handler } = await (HANDLERS[event.routeKey] as () => Promise<{ handler: HttpHandler }>)();
  const answer = answered(await handler(event, context()));
  expectDocumented(event.routeKey, answer);
  return answer;
}

const found = (role: Role) => ({ lambda: { name: `test-${role}`, role } });

export function httpEvent(
  method: string,
  target: string,
  { body, headers = {}, base64 = false, as = 'operator', authorizer = as !== null && found(as) }: Request = {},
): HttpEvent {
  const [path = '', rawQueryString = ''] = target.split('?');
  // Matched as the gateway does: it decodes the path first.
  const decoded = decodeURIComponent(path);
  const match = matchRoute(ROUTES, method, decoded);
  const routeKey = match?.route.key ?? '$default';
  const pathParameters = match?.pathParameters ?? {};
  const content = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
  return {
    version: '2.0',
    routeKey,
    rawPath: decoded,
    rawQueryString,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(Object.keys(pathParameters).length > 0 && { pathParameters }),
    requestContext: {
      accountId: '0',
      apiId: 'test',
      domainName: 'test',
      domainPrefix: 'test',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
      requestId: randomUUID(),
      routeKey,
      stage: '$default',
      time: '29/Nov/2026:00:00:00 +0000',
      timeEpoch: 0,
      // The types have it only for events of one kind of authorizer.
      ...(authorizer ? { authorizer } : {}),
    },
    ...(content !== undefined && { body: base64 ? Buffer.from(content).toString('base64') : String(content) }),
    isBase64Encoded: base64,
  };
}

/** A Lambda context with `remainingMs` left from now. */
export function context(remainingMs = 20_000): Context {
  const end = Date.now() + remainingMs;
  return {
    awsRequestId: randomUUID(),
    functionName: 'test',
    getRemainingTimeInMillis: () => Math.max(0, end - Date.now()),
  } as unknown as Context;
}

export function answered({ statusCode = 0, headers = {}, body = '' }: HttpAnswer): Answer {
  const isJson = String(headers['content-type']).includes('json');
  return {
    status: statusCode,
    headers: headers as Record<string, string>,
    text: body,
    body: isJson ? JSON.parse(body) : undefined,
  };
}

/** A problem as RFC 9457 has it, of this type, that shows nothing of the inside. */
export function expectProblem(answer: Answer, status: number, type: string): void {
  expect(answer).toMatchObject({
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: { type: `urn:millrace:problem:${type}`, status, request_id: expect.any(String) },
  });
  expect(answer.body.title).not.toBe('');
  expect(answer.body.detail).not.toBe('');
  expect(answer.text).not.toMatch(/node_modules|\.ts:|\\n\s+at /);
}
