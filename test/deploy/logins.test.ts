import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../functions/lambda/schema-version.ts';
import { type RunningPostgres, startPostgres } from '../../local/postgres.ts';
import { ofType, readStacks, type Stack } from '../../local/template.ts';
import { onServer } from '../support/database.ts';
import { type SecretsManager, startSecretsManager } from '../support/secrets-manager.ts';
import { Deployment, type Release, synthesizedRelease } from './stage.ts';

/**
 * A deploy with nothing said by hand: each function has the variables of the template, as CloudFormation would fill them in,
 * finds its password at Secrets Manager, and logs in as whom it is meant to. The server is one of its own, since the name of
 * the database and the logins are the template's.
 */
let release: Release;
let directory: string;
let server: RunningPostgres;
let manager: SecretsManager;
let deployment: Deployment;
let login: { readonly arn: string; readonly username: string };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-deploy-'));
  [release, server, manager] = await Promise.all([
    synthesizedRelease(),
    startPostgres({ directory, settings: { fsync: 'off' } }),
    startSecretsManager(),
  ]);
  const [stack] = await readStacks(release.assembly);
  deployment = new Deployment(release, { known: await cloudOf(stack as Stack), environment: manager.environment });
}, 120_000);
afterAll(async () => {
  await Promise.all([manager.close(), server.stop(), release.remove()]);
  await rm(directory, { recursive: true });
});

/** What CloudFormation and RDS would make: the server's master user and database, and the secrets of both logins. */
async function cloudOf(stack: Stack): Promise<(id: string, attribute: string) => string | undefined> {
  const [[databaseId, { Properties: database }] = ['', { Properties: {} }]] = ofType(stack, 'AWS::RDS::DBInstance');
  const { MasterUsername: master, DBName: name } = database as Record<string, string>;
  const password = randomBytes(12).toString('hex');
  // RDS's master user is no superuser.
  await onServer(server.url, `CREATE ROLE ${master} LOGIN CREATEROLE CREATEDB PASSWORD '${password}'`);
  await onServer(server.url, `CREATE DATABASE ${name} OWNER ${master}`);
  const admin = manager.create({ username: master, password });

  const generated = ofType(stack, 'AWS::SecretsManager::Secret').flatMap(([id, { Properties }]) => {
    const { SecretStringTemplate: text, GenerateStringKey: key } = (Properties.GenerateSecretString ?? {}) as {
      SecretStringTemplate?: string;
      GenerateStringKey?: string;
    };
    if (text === undefined || key === undefined) return [];
    const value = { ...JSON.parse(text), [key]: randomBytes(24).toString('hex') };
    return [{ id, arn: manager.create(value), username: value.username as string }];
  });
  const [own] = generated;
  if (own === undefined || generated.length > 1) throw new Error(`${generated.length} logins are made, not one`);
  login = own;

  const { hostname, port } = new URL(server.url);
  const attributes: Readonly<Record<string, string>> = {
    'AWS::Region Ref': 'us-east-1',
    [`${databaseId} Endpoint.Address`]: hostname,
    [`${databaseId} Endpoint.Port`]: port,
    [`${databaseId} MasterUserSecret.SecretArn`]: admin,
    [`${own.id} Ref`]: own.arn,
  };
  return (id, attribute) => attributes[`${id} ${attribute}`];
}

test('the migration logs in as the master and makes the login; every function logs in with that', async () => {
  expect(await deployment.migrate()).toMatchObject({ version: SCHEMA_VERSION });
  await expectJobsToGoThrough();
  expect(await deployment.request('Metrics', 'GET /metrics')).toMatchObject({ status: 200 });
  expect(await deployment.request('Ready', 'GET /ready')).toMatchObject({ status: 200 });
  expect(await deployment.request('Manage', 'POST /kinds/hello.greet/pause')).toMatchObject({ status: 200 });
  expect(await deployment.request('Manage', 'POST /kinds/hello.greet/resume')).toMatchObject({ status: 200 });
  expect(await deployment.call('Reap')).toMatchObject({ reaped: 0 });

  const [role] = await rows(`SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = $1`, [
    login.username,
  ]);
  expect(role).toEqual({ rolsuper: false, rolcreaterole: false, rolcreatedb: false });
});

test('a second deploy leaves the login as it is, and a rotation changes its password under the functions', async () => {
  const before = manager.value(login.arn);
  await deployment.migrate();
  expect(manager.value(login.arn)).toEqual(before);

  const ClientRequestToken = manager.startRotation(login.arn);
  for (const Step of ['createSecret', 'setSecret', 'testSecret', 'finishSecret']) {
    await deployment.call('Rotate', { SecretId: login.arn, ClientRequestToken, Step });
    await expectJobsToGoThrough();
  }
  const after = manager.value(login.arn);
  expect(after?.username).toBe(login.username);
  expect(after?.password).not.toBe(before?.password);
  // A deploy after it takes the password that is current now.
  await deployment.migrate();
  await expectJobsToGoThrough();
}, 120_000);

async function expectJobsToGoThrough(): Promise<void> {
  const body = { kind: 'hello.greet', payload: { name: 'Ada' } };
  const { status, body: job } = await deployment.request('Enqueue', 'POST /jobs', body);
  expect(status).toBe(201);
  expect(await deployment.work()).toMatchObject({ completed: 1 });
  expect((await deployment.request('JobsRead', `GET /jobs/${job.id}`)).body.status).toBe('completed');
}

async function rows(statement: string, values: unknown[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  return client.query(statement, values).then(
    (result) => client.end().then(() => result.rows),
    (error) => client.end().then(() => Promise.reject(error)),
  );
}
