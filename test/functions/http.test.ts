import { handler as enqueue } from '../../functions/enqueue/handler.ts';
import { DatabaseUnavailableError } from '../../functions/lambda/database.ts';
import { databaseProblem } from '../../functions/lambda/database-problem.ts';
import { http, json } from '../../functions/lambda/http.ts';
import { PROBLEMS } from '../../functions/lambda/problems.ts';
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
        status: 201,
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

test('every path of ROUTES has a handler, and the other way round', () => {
  const routes = Object.entries(ROUTES).flatMap(([path, methods]) => methods.map((method) => `${method} ${path}`));
  expect([...routes, '$default'].sort()).toEqual([...ROUTE_KEYS].sort());
});
