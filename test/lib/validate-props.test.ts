import { join } from 'node:path';
import { SecretValue, Size, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { describe, expect, test } from 'vitest';
import * as env from '../../functions/lambda/env.ts';
import { modulesOf } from '../../lib/bundles/modules.ts';
import type { JobQueueProps } from '../../lib/index.ts';
import { validateProps } from '../../lib/validate-props.ts';
import { SAMPLE } from './synthesize.ts';

const stack = new Stack();
const secret = secretsmanager.Secret.fromSecretCompleteArn(
  stack,
  'Secret',
  'arn:aws:secretsmanager:eu-central-1:111122223333:secret:stripe-AbCdEf',
);
/** What JavaScript can pass, and TypeScript would not. */
const untyped = (props: Record<string, unknown>) => props as Partial<JobQueueProps>;

test.each<[string, Partial<JobQueueProps>, string]>([
  [
    'egress',
    untyped({ egress: 'nat' }),
    `egress must be 'natInstance' or 'natGateway' or 'none', not "nat": choose one`,
  ],
  ['databaseAuth', untyped({ databaseAuth: 'password' }), `databaseAuth must be 'secret' or 'iam', not "password"`],
  ['pickup', untyped({ pickup: 'seconds' }), `pickup must be 'second' or 'instant' or 'minute', not "seconds"`],
  ['migrations', untyped({ migrations: 'never' }), `migrations must be 'onDeploy' or 'external', not "never"`],
  ['auth', untyped({ auth: 'none' }), `auth must be 'token' or 'iam', not "none"`],
  [
    'auth without an API',
    { api: false, auth: 'iam' },
    'auth is for the API, and api is false: leave auth out, or api.',
  ],
  [
    'throttling without an API',
    { api: false, advanced: { throttle: { rateLimit: 5 } } },
    'advanced.throttle is for the API, and api is false',
  ],
  [
    'a largest payload without an API',
    { api: false, advanced: { maxPayload: Size.kibibytes(1) } },
    'advanced.maxPayload is for the API, and api is false',
  ],
  [
    'an architecture',
    { advanced: { architecture: lambda.Architecture.custom('riscv') } },
    'advanced.architecture must be ARM_64 or X86_64, not "riscv"',
  ],
  [
    'a variable that the worker reads',
    { environment: { WORKER_QUEUES: 'a' } },
    'environment: the variable WORKER_QUEUES is for',
  ],
  [
    'a secret that the worker would read',
    { secrets: { DATABASE_URL: secret } },
    'secrets: the variable DATABASE_URL is for Millrace',
  ],
  [
    'a variable of Lambda',
    { environment: { AWS_REGION: 'mars' } },
    'the variable AWS_REGION is for Millrace or Lambda itself',
  ],
  ['a name that is none', { environment: { 'a-b': '' } }, 'a letter first, not "a-b": name it so.'],
  [
    'a name too short for Lambda',
    { environment: { A: '' } },
    'two or more letters, digits and _, a letter first, not "A"',
  ],
  [
    'more secrets than Lambda takes',
    { secrets: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`SECRET_${at}`, secret])) },
    'Put the rest into a file (bundling.files) or into one secret.',
  ],
  [
    'one variable twice',
    { environment: { STRIPE_KEY: 'x' }, secrets: { STRIPE_KEY: secret } },
    'environment and secrets both set the variable STRIPE_KEY: leave it out of one of them.',
  ],
  [
    'one variable twice, for contracts',
    { secrets: { JOB_KEYS: secret }, contractSecrets: { JOB_KEYS: secret } },
    'secrets and contractSecrets both set the variable JOB_KEYS: leave it out of one of them.',
  ],
  ['a variable of ours', { contractSecrets: { CONTRACT_SECRETS: secret } }, 'contractSecrets: the variable CONTRACT_'],
  [
    'more than Lambda takes',
    { environment: { TEXT: 'x'.repeat(3069) } },
    'must take at most 3072 bytes, names and values or ARNs, not 3073',
  ],
])('%s is refused', (_, props, sentence) => {
  expect(() => validateProps({ ...SAMPLE, ...props })).toThrow(sentence);
});

test.each<[string, Partial<JobQueueProps>]>([
  ['nothing but the jobs', {}],
  [
    'variables and secrets of the processors',
    { environment: { STRIPE_MODE: 'test', TZ: 'UTC' }, secrets: { STRIPE_KEY: secret } },
  ],
  ['as much as fits', { environment: { TEXT: 'x'.repeat(3068) } }],
  ['text of unknown length', { environment: { TEXT: SecretValue.ssmSecure('/x').unsafeUnwrap() } }],
  ['an API that is off', { api: false }],
])('%s is accepted', (_, props) => {
  expect(() => validateProps({ ...SAMPLE, ...props })).not.toThrow();
});

/** What a worker reads must be refused, or a processor's own setting of the name would change how it works. */
test.each([...Object.keys(env.workerEnv.shape), ...Object.keys(env.databaseEnv.shape), 'LOG_LEVEL', 'NODE_OPTIONS'])(
  '%s is reserved',
  (name) => {
    expect(() => validateProps({ ...SAMPLE, environment: { [name]: 'x' } })).toThrow(name);
  },
);

describe('modules', () => {
  test('are relative to projectRoot, or absolute', () => {
    const processors = join(SAMPLE.projectRoot, SAMPLE.processors);
    expect(modulesOf({ ...SAMPLE, processors })).toEqual({
      contracts: join(SAMPLE.projectRoot, SAMPLE.contracts),
      processors,
      projectRoot: join(SAMPLE.projectRoot, '.'),
    });
  });

  test('are relative to the folder that cdk runs in by default', () => {
    const { contracts, processors } = SAMPLE;
    expect(modulesOf({ contracts, processors }).contracts).toBe(join(process.cwd(), contracts));
  });

  test.each<[Partial<JobQueueProps>, RegExp]>([
    [
      { contracts: 'jobs/kinds.ts' },
      /^contracts must be the path of a module, .* there is no .*jobs\/kinds.ts: correct contracts or projectRoot\.$/,
    ],
    [{ processors: '/nowhere.ts' }, /^processors must be .* there is no \/nowhere\.ts/],
    [{ projectRoot: '/nowhere' }, /^projectRoot must be a folder that exists, and there is no \/nowhere/],
  ])('%j is refused', (props, sentence) => {
    expect(() => modulesOf({ ...SAMPLE, ...props })).toThrow(sentence);
  });
});
