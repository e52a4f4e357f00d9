import { createHmac, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { httpEvent } from '../../functions/api.ts';
import { createDatabase, type Database, onServer } from '../../support/database.ts';
import { type SecretsManager, startSecretsManager } from '../../support/secrets-manager.ts';
import { type Bundled, functionsOf, invoke, type Values } from './bundles.ts';
import { env, install } from './install.ts';

const OUR_TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** An application of somebody else's that installs the package, in CommonJS and with TypeScript 5, as `cdk init` lays it out. */
let folder: string;
let app: string;
let functions: Readonly<Record<string, Bundled>>;
let values: Values;
let database: Database;
let secrets: SecretsManager;
/** The login that the migration makes; roles are the server's, so it goes at the end. */
const login = `millrace_consumer_${randomBytes(4).toString('hex')}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-consumer-'));
  app = await install(folder);
  // Lambda runs Linux; elsewhere a native module for it cannot be tried.
  const host = process.platform === 'linux' ? [] : ['-c', 'millrace:host=true'];
  await execa('npx', ['cdk', 'synth', '--quiet', '--no-notices', ...host], { cwd: app, env, all: true });

  database = await createDatabase(inject('serverUrl'));
  secrets = await startSecretsManager();
  const { hostname, port, username, password } = new URL(database.url);
  values = [
    [/^AWS::Region$/, 'us-east-1'],
    [/^AWS::(Partition|AccountId)$/, 'aws'],
    [/Endpoint\.Address$/, hostname],
    [/Endpoint\.Port$/, port || '5432'],
    [/MasterUserSecret\.SecretArn$/, secrets.create({ username, password })],
    [/LoginSecret/, secrets.create({ username: login, password: randomBytes(24).toString('hex') })],
    [/Tokens/, secrets.create({ tokens: [] })],
  ];
  functions = await functionsOf(join(app, 'cdk.out'), 'Shop', values);
}, 300_000);

afterAll(async () => {
  await database?.pool.query(`DROP OWNED BY ${login}`).catch(() => {});
  await database?.drop();
  await onServer(inject('serverUrl'), `DROP ROLE IF EXISTS ${login}`);
  await secrets?.close();
  await rm(folder, { recursive: true, force: true });
});

let compiling: Promise<unknown> | undefined;
/** What its own compiler makes of it, in `compiled`. Rejects with what that finds wrong. */
function compiled(): Promise<unknown> {
  compiling ??= execa('npx', ['tsc', '--pretty', 'false', '--noEmit', 'false', '--outDir', 'compiled'], {
    cwd: app,
    env,
  });
  return compiling;
}

/** What the function of that name returns. */
function run(name: string, event: unknown = {}, own: Readonly<Record<string, string>> = {}) {
  const fn = functions[name];
  if (fn === undefined) throw new Error(`there is no function ${name}`);
  const databaseName = new URL(database.url).pathname.slice(1);
  return invoke(fn, event, { ...secrets.environment, DATABASE_NAME: databaseName, ...own });
}

test('its sources compile, and the types of the package are as strict as our own', { timeout: 180_000 }, async () => {
  await writeFile(
    join(app, 'jobs', 'typed.ts'),
    `import { JobQueue } from 'millrace';
     import { Client } from 'millrace/client';
     import { type Db, enqueue, type Processors } from 'millrace/queue';
     import { drain } from 'millrace/testing';
     import type { contracts } from './contracts.js';
     declare const db: Db;
     declare const all: typeof contracts;
     // @ts-expect-error: there is no such kind
     void enqueue(db, all, { kind: 'order.adit', payload: { orderId: 7 } });
     // @ts-expect-error: a processor is missing
     export const processors: Processors<typeof contracts> = { 'file.fingerprint': () => 1, 'order.audit': () => 1 };
     // @ts-expect-error: a queue needs its contracts
     export const props: ConstructorParameters<typeof JobQueue>[2] = { processors: 'jobs/processors.ts' };
     // @ts-expect-error: there is no such method
     void new Client({ url: 'http://127.0.0.1' }).enqeue;
     // @ts-expect-error: a text is no database
     void drain('db', { contracts: all, processors });`,
  );
  await compiled();
  // Our compiler, which is quick enough to look at every type of every package, with packages found as bundlers find them.
  const strict = ['--skipLibCheck', 'false', '--module', 'esnext', '--moduleResolution', 'bundler'];
  await execa(process.execPath, [OUR_TSC, '-p', app, '--pretty', 'false', ...strict], { cwd: app });
});

test.each([
  ['node', ['bin/app.ts']],
  ['node', ['compiled/bin/app.js']],
])('its stack is the same when %s runs %s in place of tsx', { timeout: 120_000 }, async (command, args) => {
  if (args[0]?.startsWith('compiled')) await compiled();
  const out = join(app, `${args.join('-').replaceAll('/', '-')}.out`);
  const context = JSON.stringify({ 'aws:cdk:bundling-stacks': [], 'aws:cdk:enable-path-metadata': true });
  await execa(command, args, {
    cwd: app,
    env: { ...env, CDK_OUTDIR: out, CDK_CONTEXT_JSON: context, CDK_VALIDATION: 'false' },
  });
  const environments = (own: typeof functions) =>
    Object.entries(own).map(([name, { environment }]) => [name, environment]);
  expect(environments(await functionsOf(out, 'Shop', values))).toEqual(environments(functions));
});

test('its commands are there', async () => {
  const millrace = (...args: string[]) => execa('npx', ['millrace', ...args], { cwd: app, env, reject: false });
  const { stdout } = await millrace('token', 'create', '--name', 'shop', '--role', 'producer', '--file', 'tokens.json');
  expect(stdout).toMatch(/^mlr_/);
  expect(await millrace('toke')).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/Did you mean token\?/) });
});

describe('a project that init makes', () => {
  let fresh: string;

  beforeAll(async () => {
    fresh = join(folder, 'fresh');
    await mkdir(fresh);
    await symlink(join(app, 'node_modules'), join(fresh, 'node_modules'));
    await execa('npx', ['millrace', 'init', '--no-install'], { cwd: fresh, env });
  });

  test('asks for the millrace that has made it', async () => {
    const { dependencies } = JSON.parse(await readFile(join(fresh, 'package.json'), 'utf8'));
    expect(dependencies.millrace).toBe('file:../app/millrace.tgz');
  });

  test('compiles', { timeout: 120_000 }, () => execa('npx', ['tsc'], { cwd: fresh, env }));

  test('has a test that passes', { timeout: 60_000 }, async () => {
    const { stdout } = await execa('npm', ['test'], { cwd: fresh, env });
    expect(stdout).toMatch(/pass 1$/m);
  });

  test('synthesizes', { timeout: 120_000 }, async () => {
    const context = JSON.stringify({ 'aws:cdk:bundling-stacks': [] });
    const out = join(fresh, 'cdk.out');
    await execa('npx', ['tsx', 'bin/app.ts'], {
      cwd: fresh,
      env: { ...env, CDK_OUTDIR: out, CDK_CONTEXT_JSON: context, CDK_VALIDATION: 'false' },
    });
    expect(Object.keys(JSON.parse(await readFile(join(out, 'Jobs.template.json'), 'utf8')).Outputs)).toEqual([
      'ApiUrl',
      'TokensSecretArn',
    ]);
  });
});

describe('its bundles, one after the other, as the functions of a deployment', () => {
  let key: string;
  const ids: Record<string, string> = {};

  test('the worker has its native module, and the API has none of its processors', async () => {
    expect(await readdir(join(functions.Work?.folder ?? '', 'node_modules/@node-rs'))).toEqual([
      'xxhash',
      expect.stringMatching(/^xxhash-/),
    ]);
    expect(await readdir(functions.Enqueue?.folder ?? '')).not.toContain('node_modules');
  });

  test('the secret is named in the template, and its value nowhere', () => {
    expect(functions.Work?.environment.WORKER_SECRETS).toMatch(/^\{"PARTNER_KEY":"[^"]*shop\/partner-key[^"]*"\}$/);
    expect(functions.Work?.environment).toMatchObject({ PARTNER: 'acme' });
    expect(functions.Enqueue?.environment).not.toHaveProperty('WORKER_SECRETS');
  });

  test('migrate makes the schema, and the login that the others use', { timeout: 60_000 }, async () => {
    await run('Migrate');
    const { rows } = await database.pool.query(`SELECT rolcanlogin FROM pg_roles WHERE rolname = '${login}'`);
    expect(rows).toEqual([{ rolcanlogin: true }]);
  });

  test.each([
    ['file.fingerprint', { text: 'millrace' }],
    ['partner.notify', { orderId: 7 }],
    ['order.audit', { orderId: 7 }],
    ['order.audit', { orderId: 0 }],
  ])('enqueue takes %s of %o', async (kind, payload) => {
    const event = httpEvent('POST', '/jobs', { body: { kind, payload, subject: JSON.stringify(payload) } });
    const { statusCode, body } = await run('Enqueue', event);
    expect(statusCode).toBe(201);
    ids[`${kind} ${JSON.stringify(payload)}`] = JSON.parse(body).id;
  });

  test('enqueue refuses what its contracts do not allow', async () => {
    const event = httpEvent('POST', '/jobs', { body: { kind: 'partner.notify', payload: { orderId: 'x' } } });
    expect(await run('Enqueue', event)).toMatchObject({ statusCode: 422 });
  });

  test('work runs them all', { timeout: 60_000 }, async () => {
    key = 'a key that stands nowhere else';
    const WORKER_SECRETS = JSON.stringify({ PARTNER_KEY: secrets.create(key) });
    const summary = await run('Work', { slot: 0 }, { WORKER_SECRETS, WORKER_PICKUP: 'minute' });
    expect(summary).toMatchObject({ completed: 3, buried: 1 });
  });

  async function jobOf(kind: string, payload: object) {
    const id = ids[`${kind} ${JSON.stringify(payload)}`];
    const { statusCode, body } = await run('JobsRead', httpEvent('GET', `/jobs/${id}?include=result`));
    expect(statusCode).toBe(200);
    return JSON.parse(body);
  }

  test('native code has run', async () => {
    expect(await jobOf('file.fingerprint', { text: 'millrace' })).toMatchObject({
      status: 'completed',
      result: { fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
  });

  test('the secret was there when the module was loaded', async () => {
    const signature = createHmac('sha256', key).update('7').digest('hex');
    expect(await jobOf('partner.notify', { orderId: 7 })).toMatchObject({
      status: 'completed',
      result: { partner: 'acme', signature },
    });
  });

  test('what the application puts around a processor was run', async () => {
    expect(await jobOf('order.audit', { orderId: 7 })).toMatchObject({ status: 'completed', result: { id: 7 } });
  });

  test('a failure has the name of its own class', async () => {
    expect(await jobOf('order.audit', { orderId: 0 })).toMatchObject({
      status: 'dead',
      attempts: 1,
      errors: [{ name: 'OrderUnknown', message: 'there is no order 0' }],
    });
  });
});
