import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Duration, Size } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { describe, expect, test } from 'vitest';
import * as env from '../../functions/lambda/env.ts';
import { JobDatabase, type JobQueueFunctions, type JobQueueProps } from '../../lib/index.ts';
import { CA_FILE, functionOf, idOf, propertiesOf, type Synthesized, synthesize } from './synthesize.ts';

type Name = keyof JobQueueFunctions;
const usual = synthesize();
const names = Object.keys(usual.queue.functions) as Name[];
const withDatabase: Name[] = ['enqueue', 'jobsRead', 'manage', 'ready', 'metrics', 'work', 'reap', 'migrate', 'rotate'];
const outside: Name[] = ['authorize', 'openapi', 'health', 'fallback'];

/** What the template sets for a function, intrinsics as text. */
function environmentOf(name: Name, of: Synthesized = usual): Record<string, string> {
  const { Variables } = propertiesOf(of.template, functionOf(of, name)).Environment;
  return Object.fromEntries(
    Object.entries(Variables).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

test('every handler is a function of the stack', () => {
  const handlers = globSync('functions/*/handler.ts', { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
  expect(handlers).toHaveLength(names.length);
  expect(names.toSorted()).toEqual([...withDatabase, ...outside].toSorted());
});

test.each<[string, Partial<JobQueueProps>, Name[]]>([
  ['without an API', { api: false }, ['work', 'reap', 'migrate', 'rotate']],
  ['with IAM at the API', { auth: 'iam' }, names.filter((name) => name !== 'authorize')],
  ['with IAM at the database', { databaseAuth: 'iam' }, names.filter((name) => name !== 'rotate')],
  [
    'with migrations of your own',
    { databaseAuth: 'iam', migrations: 'external' },
    names.filter((name) => name !== 'rotate' && name !== 'migrate'),
  ],
])('%s there are only the functions that are needed', (_, props, expected) => {
  const { queue } = synthesize(() => props);
  expect(Object.keys(queue.functions).toSorted()).toEqual(expected.toSorted());
  expect(queue.tokens === undefined).toBe(!expected.includes('authorize'));
});

test.each(names)('%s runs on Node 24 and Graviton, and keeps its log for a month', (name) => {
  const fn = propertiesOf(usual.template, functionOf(usual, name));
  expect(fn).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'], Handler: 'index.handler' });
  const NODE_OPTIONS = `--enable-source-maps${name === 'work' ? ' --max-semi-space-size=2' : ''}`;
  expect(fn.Environment.Variables).toMatchObject({ LOG_LEVEL: 'info', NODE_OPTIONS });
  const log = usual.template.toJSON().Resources[fn.LoggingConfig.LogGroup.Ref];
  expect(log).toMatchObject({ Properties: { RetentionInDays: 30 }, DeletionPolicy: 'Delete' });
});

test('requests are traced, what the clock starts is not', () => {
  const traced = names.filter(
    (name) => propertiesOf(usual.template, functionOf(usual, name)).TracingConfig.Mode === 'Active',
  );
  expect(names.filter((name) => !traced.includes(name))).toEqual(['work', 'reap', 'migrate', 'rotate']);
});

test('advanced props are those of every function', () => {
  const own = synthesize(() => ({
    advanced: { architecture: lambda.Architecture.X86_64, logRetention: logs.RetentionDays.ONE_WEEK },
  }));
  for (const name of names) {
    const fn = propertiesOf(own.template, functionOf(own, name));
    expect(fn.Architectures).toEqual(['x86_64']);
    expect(own.template.toJSON().Resources[fn.LoggingConfig.LogGroup.Ref].Properties.RetentionInDays).toBe(7);
  }
});

test('a request may wait for a job as long as the gateway waits for the function', () => {
  expect(propertiesOf(usual.template, functionOf(usual, 'jobsRead')).Timeout).toBe(29);
});

/** Logical ids of the secrets that the policies of a function's role let it read, and what else they allow. */
function rightsOf(name: Name, of: Synthesized = usual): { reads: string[]; others: string[] } {
  const role = propertiesOf(of.template, functionOf(of, name)).Role['Fn::GetAtt'][0];
  const policies = Object.values(of.template.findResources('AWS::IAM::Policy')).filter(({ Properties }) =>
    Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === role),
  );
  const statements = policies
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Effect }) => Effect === 'Allow');
  const reading = ({ Action }: { Action: string[] }) => Action.includes('secretsmanager:GetSecretValue');
  return {
    reads: statements
      .filter(reading)
      .flatMap(({ Resource }) => [Resource].flat())
      .map((resource) => resource.Ref ?? JSON.stringify(resource)),
    others: statements
      .filter((statement) => !reading(statement))
      .flatMap(({ Action }) => [Action].flat())
      .toSorted(),
  };
}

const loginId = usual.queue.loginSecret && idOf(usual.queue.loginSecret);
const adminArn = JSON.stringify({ 'Fn::GetAtt': ['JobsDatabaseInstanceF5CE9CC7', 'MasterUserSecret.SecretArn'] });

test.each(withDatabase.filter((name) => name !== 'migrate' && name !== 'rotate'))(
  '%s may read the login of the functions, and do nothing else',
  (name) => {
    const others =
      name === 'work' || name === 'reap' ? ['sqs:GetQueueAttributes', 'sqs:GetQueueUrl', 'sqs:SendMessage'] : [];
    expect(rightsOf(name)).toEqual({ reads: [loginId], others });
    expect(environmentOf(name)).toMatchObject({ DATABASE_SECRET_ARN: JSON.stringify({ Ref: loginId }) });
  },
);

test('the login that migrates is for the migration alone', () => {
  expect(rightsOf('migrate')).toEqual({ reads: [adminArn, loginId], others: [] });
  expect(names.filter((name) => rightsOf(name).reads.includes(adminArn))).toEqual(['migrate']);
});

test.each(outside)('%s knows nothing of the database, and is not in its network', (name) => {
  expect(Object.keys(environmentOf(name)).filter((variable) => variable.startsWith('DATABASE_'))).toEqual([]);
  expect(propertiesOf(usual.template, functionOf(usual, name))).not.toHaveProperty('VpcConfig');
  const reads = name === 'authorize' && usual.queue.tokens ? [idOf(usual.queue.tokens)] : [];
  expect(rightsOf(name)).toEqual({ reads, others: [] });
});

test('with IAM each function connects as a login of its own', () => {
  const own = synthesize(() => ({ databaseAuth: 'iam' }));
  const users = withDatabase
    .filter((name) => name !== 'rotate')
    .map((name) => [name, environmentOf(name, own).DATABASE_USER]);
  expect(Object.fromEntries(users)).toEqual({
    enqueue: 'millrace_producer_iam',
    jobsRead: 'millrace_reader_iam',
    ready: 'millrace_reader_iam',
    metrics: 'millrace_reader_iam',
    manage: 'millrace_operator_iam',
    work: 'millrace_worker_iam',
    reap: 'millrace_reaper_iam',
    migrate: undefined,
  });
  expect(rightsOf('enqueue', own)).toEqual({ reads: [], others: ['rds-db:connect'] });
});

test('the functions can read what the template sets: the defaults', () => {
  expect(env.readEnv(env.enqueueEnv, environmentOf('enqueue'))).toMatchObject({ PAYLOAD_MAX_BYTES: 262_144 });
  expect(env.readEnv(env.reapEnv, environmentOf('reap'))).toMatchObject({
    RETENTION_DAYS: 7,
    DEAD_RETENTION_DAYS: 30,
    IDEMPOTENCY_RETENTION_DAYS: 1,
  });
});

describe('secrets of the contracts', () => {
  const ARN = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:keys-AbCdEf';
  const own = synthesize((stack) => ({
    databaseAuth: 'iam',
    secrets: { STRIPE_KEY: new secretsmanager.Secret(stack, 'Stripe') as unknown as secretsmanager.ISecret },
    contractSecrets: { JOB_KEYS: secretsmanager.Secret.fromSecretCompleteArn(stack, 'Keys', ARN) },
  }));
  const readers = names.filter(
    (name) => own.queue.functions[name] && rightsOf(name, own).reads.includes(JSON.stringify(ARN)),
  );

  test('are for those to read that seal or open, and no others', () => {
    expect(readers.toSorted()).toEqual(['enqueue', 'jobsRead', 'work']);
  });

  test('are told by ARN: to the API on their own, to the worker with those of the processors', () => {
    for (const name of ['enqueue', 'jobsRead'] as const) {
      const { CONTRACT_SECRETS } = env.readEnv(env.contractsEnv, environmentOf(name, own));
      expect(CONTRACT_SECRETS).toEqual({ JOB_KEYS: ARN });
    }
    const { WORKER_SECRETS = '' } = environmentOf('work', own);
    expect(WORKER_SECRETS).toContain('STRIPE_KEY');
    expect(WORKER_SECRETS).toContain(ARN);
    const told = names.filter((name) => own.queue.functions[name] && environmentOf(name, own).CONTRACT_SECRETS);
    expect(told.toSorted()).toEqual(['enqueue', 'jobsRead']);
  });

  test('bring the client of Secrets Manager along, though the database needs none', () => {
    for (const name of readers) expect(rightsOf(name, own).others).toContain('rds-db:connect');
  });
});

test('props become settings', () => {
  const own = synthesize(() => ({
    advanced: { maxPayload: Size.mebibytes(1) },
    retention: Duration.days(1),
    deadRetention: Duration.days(365),
    idempotencyRetention: Duration.days(3),
    auth: { issuer: 'https://login.example.com', audience: ['jobs'], roleClaim: 'role' },
    database: JobDatabase.newInstance({ ca: CA_FILE }),
  }));
  expect(environmentOf('enqueue', own)).toMatchObject({ PAYLOAD_MAX_BYTES: '1048576', JWT_ROLE_CLAIM: 'role' });
  expect(environmentOf('migrate', own)).toMatchObject({ DATABASE_CA_FILE: 'rds-ca/own.pem' });
  expect(environmentOf('reap', own)).toMatchObject({
    RETENTION_DAYS: '1',
    DEAD_RETENTION_DAYS: '365',
    IDEMPOTENCY_RETENTION_DAYS: '3',
  });
});

test.each<[Partial<JobQueueProps>, string]>([
  [
    { advanced: { maxPayload: Size.mebibytes(5) } },
    'advanced.maxPayload (bytes) must be a whole number from 1 to 4194304, not 5242880',
  ],
  [{ retention: Duration.days(0) }, 'retention (days) must be a whole number from 1 to 3650, not 0'],
  [{ retention: Duration.hours(36) }, 'retention (days) must be a whole number from 1 to 3650, not 1.5'],
  [{ deadRetention: Duration.days(3651) }, 'deadRetention (days) must be a whole number from 1 to 3650, not 3651'],
  [
    { idempotencyRetention: Duration.days(0) },
    'idempotencyRetention (days) must be a whole number from 1 to 3650, not 0',
  ],
])('%o is refused at synth', (props, sentence) => {
  expect(() => synthesize(() => props)).toThrow(sentence);
});
