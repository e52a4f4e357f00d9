import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Duration, Size } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import * as env from '../../functions/lambda/env.ts';
import type { JobQueueProps } from '../../lib/index.ts';
import { idOf, propertiesOf, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();
const all = Object.keys(queue.functions) as (keyof typeof queue.functions)[];
const outside = ['authorize', 'openapi', 'health', 'fallback'] as const;

/** What the template sets for a function, intrinsics as text. */
function environmentOf(name: keyof typeof queue.functions, of = { queue, template }): Record<string, string> {
  const { Variables } = propertiesOf(of.template, of.queue.functions[name]).Environment;
  return Object.fromEntries(
    Object.entries(Variables).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

test('every handler is a function of the stack', () => {
  expect(globSync('functions/*/handler.ts', { cwd: fileURLToPath(new URL('../..', import.meta.url)) })).toHaveLength(
    all.length,
  );
});

test.each(all)('%s runs on Node 24 and Graviton, and keeps its log for a month', (name) => {
  const fn = propertiesOf(template, queue.functions[name]);
  expect(fn).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'], Handler: 'index.handler' });
  const NODE_OPTIONS = `--enable-source-maps${name === 'work' ? ' --max-semi-space-size=2' : ''}`;
  expect(fn.Environment.Variables).toMatchObject({ LOG_LEVEL: 'info', NODE_OPTIONS });
  const log = template.toJSON().Resources[fn.LoggingConfig.LogGroup.Ref];
  expect(log).toMatchObject({ Properties: { RetentionInDays: 30 }, DeletionPolicy: 'Delete' });
});

/** What the policies of a function's role say. */
function statementsOf(name: keyof typeof queue.functions): unknown[] {
  const role = propertiesOf(template, queue.functions[name]).Role['Fn::GetAtt'][0];
  const policies = Object.values(template.findResources('AWS::IAM::Policy')).filter(({ Properties }) =>
    Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === role),
  );
  return policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
}

const mayRead = (secret: string | undefined) => ({
  Action: ['secretsmanager:DescribeSecret', 'secretsmanager:GetSecretValue'],
  Effect: 'Allow',
  Resource: { Ref: secret },
});

const inside = all.filter((name) => !(outside as readonly string[]).includes(name));
test.each(inside)('%s may read the database secret and nothing else', (name) => {
  const [attachment] = Object.keys(template.findResources('AWS::SecretsManager::SecretTargetAttachment'));
  expect(statementsOf(name)).toEqual([mayRead(attachment)]);
  expect(environmentOf(name)).toMatchObject({ DATABASE_SECRET_ARN: expect.stringContaining('SecretAttachment') });
});

test.each(outside)('%s knows nothing of the database, and is not in its network', (name) => {
  expect(environmentOf(name)).not.toHaveProperty('DATABASE_SECRET_ARN');
  expect(propertiesOf(template, queue.functions[name])).not.toHaveProperty('VpcConfig');
  expect(statementsOf(name)).toEqual(name === 'authorize' ? [mayRead(idOf(queue.tokens))] : []);
});

test('nobody but the authorizer may read the tokens', () => {
  expect(all.filter((name) => JSON.stringify(statementsOf(name)).includes(idOf(queue.tokens)))).toEqual(['authorize']);
  expect(template.toJSON().Resources[idOf(queue.functions.authorize)].Properties.Environment.Variables).toMatchObject({
    TOKENS_SECRET_ARN: { Ref: idOf(queue.tokens) },
  });
});

test('a request may wait for a job as long as the gateway waits for the function', () => {
  expect(propertiesOf(template, queue.functions.jobsRead).Timeout).toBe(29);
});

test('the functions can read what the template sets: the defaults', () => {
  expect(env.readEnv(env.enqueueEnv, environmentOf('enqueue'))).toEqual({ PAYLOAD_MAX_BYTES: 262_144 });
  expect(env.readEnv(env.workerEnv, environmentOf('work'))).toEqual({
    WORKER_CONCURRENCY: 10,
    WORKER_TRANSACTIONS: 2,
    WORKER_LINGER_SECONDS: 60,
  });
  expect(env.readEnv(env.reapEnv, environmentOf('reap'))).toEqual({
    RETENTION_DAYS: 7,
    DEAD_RETENTION_DAYS: 30,
    IDEMPOTENCY_RETENTION_DAYS: 1,
  });
});

test('props become settings', () => {
  const own = synthesize(() => ({
    workerTimeout: Duration.minutes(10),
    workerMemory: Size.gibibytes(1),
    workerConcurrency: 3,
    workerTransactions: 0,
    maxPayload: Size.mebibytes(1),
    retention: Duration.days(1),
    deadRetention: Duration.days(365),
    idempotencyRetention: Duration.days(3),
    databaseCa: fileURLToPath(import.meta.url),
  }));
  expect(propertiesOf(own.template, own.queue.functions.work)).toMatchObject({ Timeout: 600, MemorySize: 1024 });
  expect(environmentOf('work', own)).toMatchObject({ WORKER_CONCURRENCY: '3', WORKER_TRANSACTIONS: '0' });
  expect(environmentOf('enqueue', own)).toMatchObject({ PAYLOAD_MAX_BYTES: '1048576' });
  expect(environmentOf('migrate', own)).toMatchObject({ DATABASE_CA_FILE: 'rds-ca/own.pem' });
  expect(environmentOf('reap', own)).toMatchObject({
    RETENTION_DAYS: '1',
    DEAD_RETENTION_DAYS: '365',
    IDEMPOTENCY_RETENTION_DAYS: '3',
  });
});

test.each<[Partial<JobQueueProps>, string]>([
  [{ workerConcurrency: 0 }, 'workerConcurrency must be a whole number from 1 to 1000, not 0'],
  [{ workerConcurrency: 1.5 }, 'workerConcurrency must be a whole number from 1 to 1000, not 1.5'],
  [{ workerTransactions: -1 }, 'workerTransactions must be a whole number from 0 to 100, not -1'],
  [{ maxPayload: Size.mebibytes(5) }, 'maxPayload (bytes) must be a whole number from 1 to 4194304, not 5242880'],
  [{ retention: Duration.days(0) }, 'retention (days) must be a whole number from 1 to 3650, not 0'],
  [{ deadRetention: Duration.days(3651) }, 'deadRetention (days) must be a whole number from 1 to 3650, not 3651'],
  [
    { idempotencyRetention: Duration.days(0) },
    'idempotencyRetention (days) must be a whole number from 1 to 3650, not 0',
  ],
  [{ workerTimeout: Duration.seconds(10) }, 'workerTimeout must be at least 15 s, not 10 s'],
])('%o is refused at synth', (props, sentence) => {
  expect(() => synthesize(() => props)).toThrow(sentence);
});
