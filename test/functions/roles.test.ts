import { handler as fallback } from '../../functions/fallback/handler.ts';
import { handler as health } from '../../functions/health/handler.ts';
import type { HttpEvent } from '../../functions/lambda/http.ts';
import { ROLES, type Role } from '../../functions/lambda/role.ts';
import { ROUTES } from '../../functions/lambda/routes.ts';
import { handler as openapi } from '../../functions/openapi/handler.ts';
import { afterEach } from '../support/fixtures.ts';
import { ALLOWED } from './allowed.ts';
import { answered, type Call, context, describe, expect, expectProblem, httpEvent, test } from './api.ts';

describe('every role on every route', () => {
  for (const { route, target, body, roles, status } of ALLOWED) {
    test(`${route}${target.replace(/[^?]*/, '')} is for ${roles.join(', ')}`, async ({ call, db }) => {
      const send = (as: Role | null) => call(route.split(' ')[0] as string, target, { as, ...(body && { body }) });
      for (const role of ROLES.filter((other) => !roles.includes(other))) {
        expectProblem(await send(role), 403, 'forbidden');
      }
      if (route === 'GET /health') expect((await send(null)).status).toBe(200);
      else expectProblem(await send(null), 403, 'forbidden');
      expect((await db.query('SELECT FROM millrace.jobs')).rowCount, 'nothing was put in').toBe(0);
      for (const role of roles) expect(await send(role), role).toMatchObject({ status });
    });
  }

  test('the table has every route', () => {
    expect(new Set(ALLOWED.map(({ route }) => route))).toEqual(new Set(Object.keys(ROUTES)));
  });

  test('where no route fits, whoever is known gets the 404, and nobody else', async ({ call }) => {
    for (const as of ROLES) expectProblem(await call('GET', '/nowhere', { as }), 404, 'no-such-route');
    expectProblem(await call('GET', '/nowhere', { as: null }), 403, 'forbidden');
    expectProblem(await call('PATCH', '/jobs', { as: null }), 403, 'forbidden');
  });
});

test('who may not see it learns nothing of it: neither whether a job is there, nor what is wrong with the request', async ({
  call,
}) => {
  const refused = async (call_: ReturnType<Call>) => expectProblem(await call_, 403, 'forbidden');
  await refused(call('POST', '/jobs/7/cancel', { as: 'reader' }));
  await refused(call('POST', '/jobs', { as: 'reader', body: '{' }));
  await refused(call('GET', '/metrics', { as: 'producer' }));
});

describe('who the gateway says it is', () => {
  const event = (authorizer?: unknown): HttpEvent => {
    const { requestContext, ...rest } = httpEvent('GET', '/openapi.json', { as: null });
    return {
      ...rest,
      requestContext: { ...requestContext, ...(authorizer !== undefined && { authorizer }) },
    } as HttpEvent;
  };
  const statusFor = async (authorizer?: unknown) => answered(await openapi(event(authorizer), context())).status;

  afterEach(() => {
    delete process.env.OPEN_ROLE;
    delete process.env.AWS_LAMBDA_RUNTIME_API;
  });

  const ARN = 'arn:aws:iam::123456789012:user/ada';
  test.for<[string, unknown, number]>([
    ['a token', { lambda: { name: 'ci', role: 'producer' } }, 200],
    ['an IAM principal', { iam: { userArn: ARN, accountId: '123456789012' } }, 200],
    ['nobody', undefined, 403],
    ['nobody, null', null, 403],
    ['an empty context', {}, 403],
    ['a context of null', { lambda: null }, 403],
    ['no role', { lambda: { name: 'ci' } }, 403],
    ['no name', { lambda: { role: 'operator' } }, 403],
    ['an empty name', { lambda: { name: '', role: 'operator' } }, 403],
    ['a role that there is not', { lambda: { name: 'ci', role: 'admin' } }, 403],
    ['a role that every object has', { lambda: { name: 'ci', role: 'constructor' } }, 403],
    ['a list of roles', { lambda: { name: 'ci', role: ['operator'] } }, 403],
    ['a role beside the context', { name: 'ci', role: 'operator' }, 403],
    ['an IAM principal without a name', { iam: { userArn: '' } }, 403],
    ['a token of another kind', { jwt: { claims: { role: 'operator' }, scopes: [] } }, 403],
    ['a token that is wrong beside a principal', { lambda: { name: 'ci', role: 'admin' }, iam: { userArn: ARN } }, 403],
  ])('%s', async ([, authorizer, status]) => {
    expect(await statusFor(authorizer)).toBe(status);
  });

  test('OPEN_ROLE is for requests that nobody was asked about', async () => {
    process.env.OPEN_ROLE = 'operator';
    expect(await statusFor()).toBe(200);
    expect(await statusFor({ lambda: { name: 'ci', role: 'admin' } })).toBe(403);
    expect(await statusFor({})).toBe(403);
    process.env.OPEN_ROLE = 'everybody';
    expect(await statusFor()).toBe(403);
  });

  test('OPEN_ROLE opens nothing in a Lambda, whoever set it', async () => {
    Object.assign(process.env, { OPEN_ROLE: 'operator', AWS_LAMBDA_RUNTIME_API: '127.0.0.1:9001' });
    expect(await statusFor()).toBe(403);
    expect(await statusFor({ lambda: { name: 'ci', role: 'operator' } })).toBe(200);
  });
});

test('a route that the table does not have is closed, whoever asks', async () => {
  const event = { ...httpEvent('GET', '/health'), routeKey: 'GET /admin' };
  expectProblem(answered(await health(event, context())), 403, 'forbidden');
  for (const routeKey of ['constructor', '__proto__', 'toString']) {
    expectProblem(answered(await fallback({ ...event, routeKey }, context())), 403, 'forbidden');
  }
});
