import { PROBLEMS } from '../../functions/lambda/problems.ts';
import { documented, operations } from '../openapi/documented.ts';
import { expectAnswer, isGateways } from '../openapi/expect-answer.ts';
import { describe, expect, test as withDatabase } from '../support/fixtures.ts';
import { CASES } from './cases/index.ts';
import { type Ground, startGround } from './ground.ts';
import { normal, normalMetrics } from './normal.ts';
import { refusal, refusedRoles, sampleOf } from './sample.ts';

const test = withDatabase.extend(
  'ground',
  { scope: 'file' },
  async ({ fileDatabase }, { onCleanup }): Promise<Ground> => {
    const ground = await startGround(fileDatabase);
    onCleanup(() => ground.stop());
    return ground;
  },
);

// Under the time of a hook, which is longer than that of a test.
test.beforeAll(({ ground }) => void ground, 120_000);

/** Those with 5xx are in failing.test.ts. Nothing but API Gateway itself counts requests. */
const answers = documented.filter(({ status, name }) => status < 500 && name !== 'throttled');

describe.each(operations)('$route answers', (operation) => {
  const own = answers.filter((answer) => answer.operation === operation);
  const shown = own.filter(({ name }) => name !== undefined && !isGateways(name));
  const recorded: Record<string, unknown> = {};

  test.for(own)('$key', async (answer, { ground }) => {
    const { key, status, name, contentType } = answer;
    const run = CASES[key] ?? refusal(answer) ?? expect.fail('the document has an answer that no case asks for');
    const got = await run(ground);
    expectAnswer(got, answer);
    if (!shown.includes(answer)) return;
    recorded[`${status} ${name}`] =
      contentType === 'text/plain' ? normalMetrics(got.text, 'hello.greet') : normal(got.body);
  });

  test.skipIf(shown.length === 0)('as its examples show', async () => {
    expect(Object.keys(recorded)).toEqual(shown.map(({ status, name }) => `${status} ${name}`));
    const text = `${JSON.stringify(recorded, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`../../openapi/examples/${operation.id}.json`);
  });
});

test('no case is of an answer that is not documented', () => {
  const keys = answers.map(({ key }) => key);
  expect(Object.keys(CASES).filter((key) => !keys.includes(key))).toEqual([]);
});

const allowed = operations.flatMap((operation) => operation.roles.map((role) => ({ ...operation, role })));
test.for(allowed)('$role may use $route', async ({ role, ...operation }, { ground }) => {
  const answer = await ground.send({ ...sampleOf(operation), as: role as 'reader' });
  expect([401, 403]).not.toContain(answer.status);
  expect(answer.status, answer.text).toBeLessThan(500);
});

const refused = operations
  .filter(({ roles }) => roles.length > 0)
  .flatMap((operation) => refusedRoles(operation).map((role) => ({ ...operation, role })));
test.for(refused)('$role may not use $route', async ({ role, ...operation }, { ground }) => {
  const answer = await ground.send({ ...sampleOf(operation), as: role });
  expect(answer).toMatchObject({ status: 403, body: { type: 'urn:millrace:problem:forbidden' } });
});

const bodies = operations.flatMap((operation) =>
  Object.entries(operation.bodies).map(([name, example]) => ({ ...operation, name, example })),
);
test.for(bodies)('the body "$name" of $route is taken', async ({ example, ...operation }, { ground }) => {
  const answer = await ground.send({ ...sampleOf(operation), body: example });
  expect([200, 201], answer.text).toContain(answer.status);
});

const queries = operations.flatMap((operation) =>
  operation.parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => ({
      ...operation,
      name,
      example: (schema.examples as unknown[] | undefined)?.[0] ?? schema.default ?? (schema.enum as unknown[])?.[0],
    })),
);
test.for(queries)('?$name=$example of $route is taken', async ({ name, example, ...operation }, { ground }) => {
  if (example === undefined) return expect(name).toBe('cursor');
  const query = new URLSearchParams({ [name]: String(example) });
  const { status, text } = await ground.send({ to: `${sampleOf(operation).to}?${query}` });
  expect([200, 404], text).toContain(status);
});

describe('what is not documented', () => {
  const paths = Map.groupBy(operations, ({ route }) => route.split(' ')[1] as string);

  test.for([...paths])('%s takes no other method', async ([path, own], { ground }) => {
    const to = sampleOf(own[0] as (typeof operations)[number]).to.replace(/^\S+/, 'PATCH');
    const answer = await ground.send({ to });
    expect(answer).toMatchObject({ status: 405, body: { type: 'urn:millrace:problem:method-not-allowed' } });
    const allow = answer.headers.allow?.split(', ') ?? [];
    for (const { route } of own) expect(allow, path).toContain(route.split(' ')[0]);
  });

  test.for(['/', '/job', '/jobs/', '/jobs/7/errors'])('%s is nothing', async (path, { ground }) => {
    const answer = await ground.send({ to: `GET ${path}` });
    const { status, title } = PROBLEMS['no-such-route'];
    expect(answer).toMatchObject({ status, body: { type: 'urn:millrace:problem:no-such-route', status, title } });
    expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
  });
});
