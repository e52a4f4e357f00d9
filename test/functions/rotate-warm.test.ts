import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningPostgres, startPostgres } from '../../local/postgres.ts';
import type { ThreadSandbox } from '../../local/sandbox-thread.ts';
import { type Bundled, bundled } from '../support/bundled.ts';
import { inDatabase, onServer, openPool } from '../support/database.ts';
import { type SecretsManager, startSecretsManager } from '../support/secrets-manager.ts';
import { type Answer, answered, httpEvent } from './api.ts';
import { type LoopbackProxy, loopbackProxy } from './loopback-proxy.ts';

const STEPS = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'];
const USERNAME = 'millrace_app_0123abcd';
const FIRST = 'first-password-of-the-login';

let directory: string;
let server: RunningPostgres;
let manager: SecretsManager;
let functions: Bundled;
let admin: pg.Pool;
let arn: string;
/** What every function of a stack has for its database. */
let environment: Record<string, string>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-warm-'));
  [server, manager, functions] = await Promise.all([
    startPostgres({ directory, settings: { fsync: 'off', log_statement: 'all', log_min_error_statement: 'error' } }),
    startSecretsManager(),
    bundled(['migrate', 'rotate', 'enqueue', 'jobs-read', 'work']),
  ]);
  await onServer(server.url, `CREATE ROLE owner LOGIN CREATEROLE PASSWORD 'owning'`);
  await onServer(server.url, 'CREATE DATABASE app OWNER owner');
  const url = inDatabase(server.url, 'app');
  admin = openPool(url);
  arn = manager.create({ username: USERNAME, password: FIRST });
  const { hostname, port } = new URL(url);
  environment = { ...manager.environment, DATABASE_HOST: hostname, DATABASE_PORT: port, DATABASE_NAME: 'app' };
});
afterAll(async () => {
  await functions.close();
  await admin.end();
  await Promise.all([manager.close(), server.stop()]);
  await rm(directory, { recursive: true });
});

test('a deploy makes the login, and the secret is rotated under running functions without anybody noticing', async () => {
  await deploy();
  const own = { ...environment, DATABASE_SECRET_ARN: arn };
  const untouched = functions.start('enqueue', own);
  const network = await loopbackProxy(inDatabase(server.url, 'app'));
  const cut = functions.start('enqueue', { ...own, DATABASE_PORT: new URL(network.url).port });
  const reading = functions.start('jobs-read', own);
  const worker = keepWorking(functions.start('work', { ...own, WORKER_PICKUP: 'minute' }));
  const rotate = functions.start('rotate', { ...environment, LOGIN_SECRET_ARN: arn });

  await call(untouched, 'POST', '/jobs', job());
  const [first] = await sessions('millrace-enqueue');
  const traffic = keepAsking(cut, network);

  /** Old connections serve, new ones of old and of new functions are made, and what is enqueued is done. */
  const allIsWell = async (when: string) => {
    const cold = functions.start('enqueue', own);
    const answers = await Promise.all([call(untouched, 'POST', '/jobs', job()), call(cold, 'POST', '/jobs', job())]);
    await cold.close();
    expect(
      answers.map(({ status }) => status),
      when,
    ).toEqual([201, 201]);
    for (const { body } of answers) {
      const ended = await call(reading, 'GET', `/jobs/${body.id}?wait=20`);
      expect([ended.status, ended.body.status], when).toEqual([200, 'completed']);
    }
    expect(await sessions('millrace-enqueue'), when).toContain(first);
    expect(
      traffic.statuses.filter((status) => status !== 201),
      when,
    ).toEqual([]);
    expect(worker.failures(), when).toEqual([]);
  };

  await allIsWell('before');
  const passwords = [FIRST];
  for (const round of ['first', 'second']) {
    const token = manager.startRotation(arn);
    for (const Step of STEPS) {
      await step(rotate, Step, token);
      await allIsWell(`${round} rotation, after ${Step}`);
    }
    passwords.push(String(manager.value(arn)?.password));
  }

  // One that fails in the middle and is begun again.
  const token = manager.startRotation(arn);
  for (const Step of STEPS.slice(0, 2)) await step(rotate, Step, token);
  const unlucky = functions.start('rotate', { ...environment, LOGIN_SECRET_ARN: arn, DATABASE_PORT: '1' });
  const failed = await unlucky.invoke({ Step: 'testSecret', SecretId: arn, ClientRequestToken: token }, randomUUID());
  expect(failed).toMatchObject({ kind: 'threw' });
  await allIsWell('after a rotation that failed');
  await deploy();
  await allIsWell('after a deploy in the middle of it');
  for (const Step of STEPS) await step(rotate, Step, token);
  await allIsWell('after its repetition');
  passwords.push(String(manager.value(arn)?.password));

  expect(await traffic.stop()).toBeGreaterThan(20);
  expect(network.connections).toBeGreaterThan(20);
  expect(await worker.stop()).toBeGreaterThan(5);
  expect(new Set(passwords).size).toBe(4);
  const logs = (await readFile(join(directory, 'postgres.log'), 'utf8')) + functions.lines.join('\n');
  expect(logs).toContain('ALTER ROLE');
  for (const password of passwords) expect(logs).not.toContain(password);
}, 120_000);

/** The bundled migrate function, as the deploy calls it. */
async function deploy(): Promise<void> {
  const url = new URL(inDatabase(server.url, 'app'));
  const owner = Object.assign(url, { username: 'owner', password: 'owning' }).href;
  const migrate = functions.start('migrate', { ...environment, DATABASE_URL: owner, LOGIN_SECRET_ARN: arn });
  expect(await migrate.invoke({}, randomUUID())).toMatchObject({ kind: 'returned' });
  await migrate.close();
}

async function step(rotate: ThreadSandbox, Step: string, token: string): Promise<void> {
  const event = { Step, SecretId: arn, ClientRequestToken: token };
  expect(await rotate.invoke(event, randomUUID()), Step).toEqual({ kind: 'returned', json: 'null' });
}

const job = () => ({ body: { kind: 'hello.greet', payload: { name: 'Ada' } } });

async function call(fn: ThreadSandbox, method: string, target: string, request: object = {}): Promise<Answer> {
  const ending = await fn.invoke(httpEvent(method, target, request), randomUUID());
  if (ending.kind !== 'returned') throw new Error(JSON.stringify(ending));
  return answered(JSON.parse(ending.json));
}

/** Process ids of the connections of that name, the oldest first. */
async function sessions(name: string): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY backend_start',
    [name],
  );
  return rows.map(({ pid }) => pid);
}

/** Requests without a pause, each over a connection that has to be made anew with whatever credentials the function knows. */
function keepAsking(fn: ThreadSandbox, network: LoopbackProxy) {
  const statuses: number[] = [];
  let going = true;
  const ended = (async () => {
    while (going) {
      statuses.push((await call(fn, 'POST', '/jobs', job())).status);
      network.cut();
    }
  })();
  return {
    statuses,
    stop: async () => {
      going = false;
      await ended;
      await network.close();
      return statuses.length;
    },
  };
}

/** Ticks of a worker one after the other in the same sandbox, each with connections of its own. */
function keepWorking(fn: ThreadSandbox) {
  const endings: Awaited<ReturnType<ThreadSandbox['invoke']>>[] = [];
  let going = true;
  const ended = (async () => {
    while (going) endings.push(await fn.invoke({ slot: 0 }, randomUUID()));
  })();
  return {
    failures: () => endings.filter(({ kind }) => kind !== 'returned'),
    stop: async () => {
      going = false;
      await ended;
      return endings.length;
    },
  };
}
