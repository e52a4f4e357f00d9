import { rolesIn } from '../../functions/lambda/jwt-roles.ts';
import { afterEach, beforeEach } from '../support/fixtures.ts';
import { ALLOWED } from './allowed.ts';
import { describe, expect, expectProblem, test as withCall } from './api.ts';

const CLAIM = 'millrace_role';

beforeEach(() => {
  process.env.JWT_ROLE_CLAIM = CLAIM;
});
afterEach(() => {
  for (const name of ['JWT_ROLE_CLAIM', 'OPEN_ROLE']) delete process.env[name];
});

/** `detail`: what a caller whom the gateway knows like that is told, or the status if they get in. */
const test = withCall.extend('detail', async ({ call }) => async (authorizer: unknown) => {
  const { status, body } = await call('GET', '/openapi.json', { as: null, authorizer });
  return status === 403 ? (body.detail as string) : status;
});

const jwt = (claims: Record<string, unknown>) => ({ jwt: { claims: { sub: 'ada', ...claims }, scopes: null } });

describe('a claim names roles', () => {
  test.for<[unknown, readonly string[]]>([
    ['producer', ['producer']],
    ['operator', ['operator']],
    ['[reader]', ['reader']],
    ['[operator producer]', ['producer', 'operator']],
    ['[producer, reader]', ['producer', 'reader']],
    ['[staff millrace reader]', ['reader']],
    ['reader producer reader', ['producer', 'reader']],
    [['reader', 'staff'], ['reader']],
  ])('%j', ([claim, roles]) => {
    expect(rolesIn(claim)).toEqual({ roles });
  });

  test.for<unknown>([
    '',
    '[]',
    'admin',
    'Operator',
    'operators',
    'co-operator',
    '[operator-of-nothing]',
    'role:operator',
    '"operator"',
    '["operator"]',
    'constructor',
    'my\u00a0operator',
    'my\toperator\n',
    '[[operator]]',
    ['my operator'],
    [['operator']],
    [],
    { operator: true },
    true,
    7,
    null,
  ])('%j names none', (claim) => {
    expect(rolesIn(claim)).toEqual({ flaw: 'names none of the roles producer, reader and operator' });
  });
});

describe('a JWT opens', () => {
  for (const { route, target, body, roles, status } of ALLOWED.filter((one) => one.route !== 'GET /health')) {
    test(`${route}${target.replace(/[^?]*/, '')} to ${roles.join(', ')}`, async ({ call, db }) => {
      const method = route.split(' ')[0] as string;
      for (const role of ['producer', 'reader', 'operator'].filter((one) => !(roles as string[]).includes(one))) {
        expectProblem(
          await call(method, target, { as: null, authorizer: jwt({ [CLAIM]: role }), ...(body && { body }) }),
          403,
          'forbidden',
        );
      }
      expect((await db.query('SELECT FROM millrace.jobs')).rowCount, 'nothing was put in').toBe(0);
      for (const role of roles)
        expect(
          await call(method, target, { as: null, authorizer: jwt({ [CLAIM]: role }), ...(body && { body }) }),
        ).toMatchObject({ status });
    });
  }

  test('what any of its roles may: none of them takes from the others', async ({ call }) => {
    const both = jwt({ [CLAIM]: '[reader producer]' });
    const job = { kind: 'hello.greet', payload: { name: 'Ada' } };
    const { status, headers } = await call('POST', '/jobs', { authorizer: both, body: job });
    expect(status).toBe(201);
    const seen = await call('GET', `${headers.location}?include=payload`, { authorizer: both });
    expect(seen.body).toMatchObject({ payload: { name: 'Ada' } });
    const refused = await call('DELETE', String(headers.location), { authorizer: both });
    expect(refused.body.detail).toBe('It takes the role operator; this token has producer and reader.');
  });

  test('and whose it is stands in the log of the operators', async ({ call, db }) => {
    const operator = jwt({ [CLAIM]: 'operator', sub: 'auth0|7' });
    expect(await call('POST', '/queues/slow/pause', { authorizer: operator })).toMatchObject({ status: 200 });
    expect((await db.query('SELECT actor FROM millrace.operator_log')).rows).toEqual([{ actor: 'auth0|7' }]);
  });
});

test.for<[string, unknown, string | number]>([
  ['our claim', jwt({ [CLAIM]: 'reader' }), 200],
  ['no role', jwt({}), 'The claim "millrace_role" of the JWT is not there: it must name producer, reader or operator.'],
  [
    'a role of another claim',
    jwt({ role: 'operator', roles: '[operator]', scope: 'operator' }),
    expect.stringContaining('is not there') as never,
  ],
  [
    'a role that there is not',
    jwt({ [CLAIM]: 'admin' }),
    'The claim "millrace_role" of the JWT names none of the roles producer, reader and operator.',
  ],
  [
    'scopes alone',
    { jwt: { claims: { sub: 'ada' }, scopes: ['operator', CLAIM] } },
    expect.stringContaining('is not there') as never,
  ],
  [
    'nobody’s name',
    jwt({ [CLAIM]: 'operator', sub: undefined }),
    'The JWT does not say whose it is: it has no claim "sub".',
  ],
  ['an empty name', jwt({ [CLAIM]: 'operator', sub: '' }), expect.stringContaining('"sub"') as never],
  [
    'a name that no table can keep',
    jwt({ [CLAIM]: 'operator', sub: 'a\0b' }),
    expect.stringContaining('"sub"') as never,
  ],
  ['no claims', { jwt: {} }, expect.stringContaining('Nobody vouches') as never],
  [
    'a text',
    { jwt: `{"claims":{"sub":"ada","${CLAIM}":"operator"}}` },
    expect.stringContaining('Nobody vouches') as never,
  ],
  [
    'claims beside it',
    { claims: { sub: 'ada', [CLAIM]: 'operator' } },
    expect.stringContaining('Nobody vouches') as never,
  ],
])('of a JWT with %s', async ([, authorizer, expected], { detail }) => {
  expect(await detail(authorizer)).toEqual(expected);
});

test('a role that every object has is none', async ({ detail }) => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    process.env.JWT_ROLE_CLAIM = name;
    expect(await detail(jwt({}))).toBe(
      `The claim "${name}" of the JWT is not there: it must name producer, reader or operator.`,
    );
  }
});

describe('how it was deployed says what counts', () => {
  const ARN = 'arn:aws:iam::123456789012:user/ada';
  const token = { lambda: { name: 'ci', role: 'operator' } };
  const principal = { iam: { userArn: ARN } };

  test('where JWTs count, neither tokens nor principals do', async ({ detail }) => {
    for (const other of [token, principal, {}, undefined]) {
      expect(await detail(other)).toContain('Nobody vouches');
    }
    expect(await detail({ ...token, ...principal, ...jwt({}) })).toContain('The claim "millrace_role"');
  });

  test('where they do not, a JWT counts for nothing, whatever it says', async ({ detail }) => {
    for (const name of ['', undefined]) {
      if (name === undefined) delete process.env.JWT_ROLE_CLAIM;
      else process.env.JWT_ROLE_CLAIM = name;
      expect(await detail(jwt({ [CLAIM]: 'operator', '': 'operator', undefined: 'operator' }))).toContain('Nobody');
      expect(await detail(token)).toBe(200);
      expect(await detail(principal)).toBe(200);
    }
  });

  test('a JWT without our claim is not let in by OPEN_ROLE either', async ({ detail }) => {
    process.env.OPEN_ROLE = 'operator';
    expect(await detail(jwt({}))).toContain('The claim "millrace_role"');
    expect(await detail({ jwt: null })).toContain('Nobody vouches');
    // The local runtime asks nobody: there it opens what a deployment would ask a JWT for.
    expect(await detail(undefined)).toBe(200);
  });
});
