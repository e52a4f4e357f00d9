import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '../support/fixtures.ts';
import { projectOf, startIn } from './project.ts';

/** A project whose one route wants what only AWS can check. */
async function guardedProject(route: object, resources: object = {}): Promise<string> {
  const directory = await projectOf();
  const file = join(directory, 'assembly', 'Stack.template.json');
  const { Resources } = JSON.parse(await readFile(file, 'utf8'));
  Object.assign(Resources.R.Properties, route);
  await writeFile(file, JSON.stringify({ Resources: { ...Resources, ...resources } }));
  return directory;
}

const JWT = {
  A: {
    Type: 'AWS::ApiGatewayV2::Authorizer',
    Properties: { AuthorizerType: 'JWT', JwtConfiguration: { Issuer: 'https://a.example' } },
  },
};

describe.for<[string, object, object]>([
  ['AWS_IAM', { AuthorizationType: 'AWS_IAM' }, {}],
  ['JWT', { AuthorizationType: 'JWT', AuthorizerId: { Ref: 'A' } }, JWT],
])('a stack whose API asks for %s', ([type, route, resources]) => {
  test('runs without authentication, as any other', { timeout: 60_000 }, async ({ databaseUrl }) => {
    const directory = await guardedProject(route, resources);
    const url = await startIn(directory, { DATABASE_URL: databaseUrl }).ready;
    const answer = await fetch(`${url}/anything`);
    expect([answer.status, await answer.json()]).toEqual([200, { path: '/anything' }]);
  });

  test('lets nobody in with MILLRACE_AUTH=on, and says at the start why', { timeout: 60_000 }, async ({
    databaseUrl,
  }) => {
    const directory = await guardedProject(route, resources);
    const { ready, output } = startIn(directory, { DATABASE_URL: databaseUrl, MILLRACE_AUTH: 'on' });
    const answer = await fetch(`${await ready}/anything`, { headers: { authorization: 'Bearer eyJ.eyJ.sig' } });
    expect([answer.status, await answer.json()]).toEqual([403, { message: 'Forbidden' }]);
    expect(output()).toContain('MILLRACE_AUTH=on: 1 of 1 routes answer 403 to everybody');
    expect(output()).toContain(`its authorization (${type}) cannot be checked on this machine`);
  });
});
