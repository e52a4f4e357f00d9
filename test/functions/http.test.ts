import { handler as enqueue } from '../../functions/enqueue/handler.ts';
import { DatabaseUnavailableError } from '../../functions/lambda/database.ts';
import { databaseProblem } from '../../functions/lambda/database-problem.ts';
import { http, json } from '../../functions/lambda/http.ts';
import { PROBLEMS } from '../../functions/lambda/problems.ts';
import { traceparentOf } from '../../functions/lambda/request-id.ts';
import { ROUTES } from '../../functions/lambda/routes.ts';
import { beforeEach, vi } from '../support/fixtures.ts';
import { answered, context, describe, expect, expectProblem, httpEvent, ROUTE_KEYS, test } from './api.ts';

const written = () => vi.mocked(process.stdout.write).mock.calls.map(([line]) => JSON.parse(String(line)));

beforeEach(() => {
  process.env.LOG_LEVEL = 'info';
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});

describe('http', () => {
  test('answers an unexpected error with a 500 that shows nothing, and logs it under the same request id', async () => {
    const handler = http({ name: 'broken' }, async () => {
      throw new Error('the inside', { cause: new TypeError('deeper inside') });
    });
    const answer = answered(await handler(httpEvent('GET', '/x'), context()));
    expectProblem(answer, 500, 'internal-error');
    expect(answer.text).not.toContain('inside');
    expect(written()).toMatchObject([
      {
        level: 'error',
        request_id: answer.body.request_id,
        error: { name: 'Error', message: 'the inside', stack: expect.any(String), cause: { message: 'deeper inside' } },
      },
      { level: 'info', message: 'request', status: 500, request_id: answer.body.request_id },
    ]);
  });

  test.for([null, undefined, 'text', 0, { statusCode: 200 }])('answers a thrown %j too', async (thrown) => {
    const handler = http({ name: 'broken' }, async () => {
      throw thrown;
    });
    expectProblem(answered(await handler(httpEvent('GET', '/x'), context())), 500, 'internal-error');
  });

  test('logs one line a request: JSON, with its id, and nothing of its body', async ({ databaseUrl }) => {
    process.env.DATABASE_URL = databaseUrl;
    for (const payload of [{ name: 'Ada Lovelace' }, { name: 7, lovelace: 1 }]) {
      await enqueue(httpEvent('POST', '/jobs', { body: { kind: 'hello.greet', payload } }), context());
    }
    expect(written()).toMatchObject([
      {
        timestamp: expect.any(String),
        level: 'info',
        message: 'request',
        function: 'enqueue',
        route: 'POST /jobs',
        caller: 'test-operator',
        status: 201,
        job_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
      { request_id: expect.any(String), status: 422, duration_ms: expect.any(Number) },
    ]);
    expect(JSON.stringify(written())).not.toMatch(/lovelace/i);
  });

  test('answers before the function is killed', async () => {
    const handler = http({ name: 'slow' }, () => new Promise(() => {}));
    expectProblem(answered(await handler(httpEvent('GET', '/x'), context(1050))), 503, 'timeout');
  });

  test('keeps answers out of caches', async () => {
    const handler = http({ name: 'fine' }, async () => json(200, {}));
    expect((await handler(httpEvent('GET', '/x'), context())).headers).toMatchObject({ 'cache-control': 'no-store' });
  });
});

test.for(['postgres://user:unsaid@host:99999999/db', 'user:unsaid@host/db', 'mysql://user:unsaid@host/db'])(
  'DATABASE_URL %s is a 500 whose reason is in the log, without the URL',
  async (url) => {
    vi.resetModules();
    process.env.DATABASE_URL = url;
    const { handler } = await import('../../functions/jobs-read/handler.ts');
    const answer = answered(await handler(httpEvent('GET', '/jobs'), context()));
    expectProblem(answer, 500, 'internal-error');
    expect(written()[0].error.message).toContain('DATABASE_URL is not a URL');
    expect(JSON.stringify(written())).not.toContain('unsaid');
  },
);

describe('databaseProblem', () => {
  const says = (code: string) => {
    const problem = databaseProblem(Object.assign(new Error('x'), { code, severity: 'ERROR' }));
    return problem && `${PROBLEMS[problem.code].status} ${problem.code}`;
  };
  test.for([
    ['08006', '503 database-unavailable'],
    ['25006', '503 database-unavailable'],
    ['28P01', '503 database-unavailable'],
    ['3D000', '503 database-unavailable'],
    ['40P01', '503 database-unavailable'],
    ['53300', '503 database-unavailable'],
    ['55P03', '503 database-unavailable'],
    ['57014', '503 database-unavailable'],
    ['57P03', '503 database-unavailable'],
    ['3F000', '503 schema-outdated'],
    ['42P01', '503 schema-outdated'],
    ['22P05', '422 unstorable-value'],
    ['23514', '422 unstorable-value'],
    ['42601', undefined],
    ['42501', undefined],
  ])('%s: %s', ([code, expected]) => {
    expect(says(code as string)).toBe(expected);
  });

  test('knows errors without SQLSTATE only by their class: a mistake of ours is a 500', () => {
    const silent = databaseProblem(new DatabaseUnavailableError('x', { cause: new Error('y') }));
    expect(silent?.code).toBe('database-unavailable');
    expect(silent?.message).toContain('may still do what was asked for');
    const busy = databaseProblem(new DatabaseUnavailableError('x'));
    expect(busy?.code).toBe('database-unavailable');
    expect(busy?.message).toContain('Too many wait');
    expect(databaseProblem(new Error('x'))).toBeUndefined();
    expect(databaseProblem(null)).toBeUndefined();
  });
});

describe('request ids', () => {
  const echo = http({ name: 'echo' }, async (event) => {
    if (event.rawPath === '/broken') throw new Error('the inside');
    return json(200, {}, { 'x-own': 'kept' });
  });
  const send = async (headers: Record<string, string>, path = '/x') => {
    const event = httpEvent('GET', path, { headers });
    return { event, answer: answered(await echo(event, context())) };
  };

  test("the caller's comes back, with every answer, and is in the log beside the gateway's", async () => {
    const { event, answer } = await send({ 'x-request-id': 'shop-7/retry:2' });
    expect(answer.headers).toMatchObject({ 'x-request-id': 'shop-7/retry:2', 'x-own': 'kept' });
    expect(written()).toMatchObject([
      { message: 'request', request_id: 'shop-7/retry:2', gateway_request_id: event.requestContext.requestId },
    ]);
    const broken = (await send({ 'x-request-id': 'shop-8' }, '/broken')).answer;
    expect(broken).toMatchObject({ headers: { 'x-request-id': 'shop-8' }, body: { request_id: 'shop-8' } });
  });

  test("without one it is the gateway's", async () => {
    const { event, answer } = await send({});
    expect(answer.headers['x-request-id']).toBe(event.requestContext.requestId);
    expect(written()[0]).not.toHaveProperty('gateway_request_id');
  });

  test.for(['', ' ', 'a b', 'a,b', 'a"b', 'a\nb', 'ä', '<b>', 'x'.repeat(129)])('%j is none', async (id) => {
    const { event, answer } = await send({ 'x-request-id': id });
    expect(answer.headers['x-request-id']).toBe(event.requestContext.requestId);
  });

  test('one may have 128 characters', async () => {
    const id = 'A1._:/+=@-'.padEnd(128, 'x');
    expect((await send({ 'x-request-id': id })).answer.headers['x-request-id']).toBe(id);
  });
});

describe('traceparent', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const VALID = `00-${TRACE}-00f067aa0ba902b7-01`;
  const given = (traceparent: string) => traceparentOf(httpEvent('GET', '/x', { headers: { traceparent } }));

  test('goes into the log as trace_id', async () => {
    const handler = http({ name: 'echo' }, async () => json(200, {}));
    await handler(httpEvent('GET', '/x', { headers: { traceparent: VALID } }), context());
    await handler(httpEvent('GET', '/x', { headers: { traceparent: 'x' } }), context());
    expect(written()[0]).toMatchObject({ trace_id: TRACE });
    expect(written()[1]).not.toHaveProperty('trace_id');
  });

  test.for([VALID, `cc-${TRACE}-00f067aa0ba902b7-01-what-will-be`])('%s is one', (traceparent) => {
    expect(given(traceparent)).toBe(traceparent);
  });

  test.for([
    '',
    VALID.toUpperCase(),
    `${VALID}-more`,
    VALID.replace('00-', 'ff-'),
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    VALID.slice(0, -1),
    VALID.slice(3),
    `${VALID},${VALID}`,
    `cc-${TRACE}-00f067aa0ba902b7-01-${'x'.repeat(300)}`,
  ])('%j is none', (traceparent) => {
    expect(given(traceparent)).toBeUndefined();
  });
});

test('every path of ROUTES has a handler, and the other way round', () => {
  expect([...Object.keys(ROUTES), '$default'].sort()).toEqual([...ROUTE_KEYS].sort());
});
