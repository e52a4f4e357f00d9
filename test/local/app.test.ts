import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rateSeconds, readApp } from '../../local/app.ts';
import { temporaryDirectory } from './bundle.ts';

const arn = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });

function fn(path: string, properties: object = {}, metadata: object = { 'aws:asset:path': 'asset.1' }) {
  return {
    Type: 'AWS::Lambda::Function',
    Properties: { Handler: 'index.handler', Runtime: 'nodejs24.x', ...properties },
    Metadata: { 'aws:cdk:path': `Stack/${path}/Resource`, ...metadata },
  };
}

function route(key: string, integration: string) {
  return {
    Type: 'AWS::ApiGatewayV2::Route',
    Properties: { RouteKey: key, Target: { 'Fn::Join': ['', ['integrations/', { Ref: integration }]] } },
  };
}

function integration(target: unknown, properties: object = {}) {
  return {
    Type: 'AWS::ApiGatewayV2::Integration',
    Properties: { IntegrationUri: target, PayloadFormatVersion: '2.0', ...properties },
  };
}

function schedule(path: string, target: unknown, properties: object = {}) {
  return {
    Type: 'AWS::Scheduler::Schedule',
    Properties: {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: { Arn: target, Input: '{"slot":0}' },
      ...properties,
    },
    Metadata: { 'aws:cdk:path': `Stack/${path}/Resource` },
  };
}

/** A cloud assembly with one stack of these resources. */
async function assemblyOf(Resources: object): Promise<string> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'asset.1'));
  await writeFile(join(directory, 'Stack.template.json'), JSON.stringify({ Resources }));
  await writeFile(
    join(directory, 'manifest.json'),
    JSON.stringify({
      version: '1',
      artifacts: {
        Stack: { type: 'aws:cloudformation:stack', properties: { templateFile: 'Stack.template.json' } },
        Tree: { type: 'cdk:tree' },
      },
    }),
  );
  return directory;
}

const HERE = { DATABASE_URL: 'postgres://here/' };
const API = { F: fn('Jobs/Enqueue'), I: integration(arn('F')), R: route('POST /jobs', 'I') };

describe('readApp', () => {
  test('goes from route and schedule to their function, also through a version and an alias', async () => {
    const directory = await assemblyOf({
      F: fn('Jobs/Enqueue', { Timeout: 10, MemorySize: 256 }),
      Work: fn('Jobs/Work', { Timeout: 90 }),
      V: { Type: 'AWS::Lambda::Version', Properties: { FunctionName: { Ref: 'F' } } },
      A: {
        Type: 'AWS::Lambda::Alias',
        Properties: { FunctionName: { Ref: 'F' }, FunctionVersion: { 'Fn::GetAtt': ['V', 'Version'] } },
      },
      I: integration(arn('F')),
      J: integration({ Ref: 'A' }, { TimeoutInMillis: 5000 }),
      R: route('POST /jobs', 'I'),
      D: route('$default', 'J'),
      S: schedule('Jobs/Tick', arn('Work')),
      Off: schedule('Jobs/Off', arn('Work'), { State: 'DISABLED' }),
    });
    const app = await readApp(directory, HERE);
    expect(app.routes).toMatchObject([
      {
        key: 'POST /jobs',
        timeoutMs: 30_000,
        fn: {
          name: 'Enqueue',
          timeoutSeconds: 10,
          memoryMegabytes: 256,
          handler: 'index.handler',
          directory: join(directory, 'asset.1'),
        },
      },
      { key: '$default', timeoutMs: 5000, fn: { name: 'Enqueue' } },
    ]);
    expect(app.routes[0]?.fn).toBe(app.routes[1]?.fn);
    expect(app.schedules).toMatchObject([
      { name: 'Tick', everySeconds: 60, event: { slot: 0 }, fn: { name: 'Work', timeoutSeconds: 90 } },
    ]);
    expect(app.notes).toEqual([]);
  });

  test('says which schedules it does not run', async () => {
    const app = await readApp(
      await assemblyOf({ ...API, S: schedule('Nightly', arn('F'), { ScheduleExpression: 'cron(0 3 * * ? *)' }) }),
      HERE,
    );
    expect(app.schedules).toEqual([]);
    expect(app.notes).toEqual([expect.stringContaining('Nightly does not run here: "cron(0 3 * * ? *)"')]);
  });

  test('a function keeps the settings of the template, gets the database, and loses what only AWS knows', async () => {
    const Variables = {
      DATABASE_SECRET_ARN: { Ref: 'Secret' },
      DATABASE_CA_FILE: 'rds-ca.pem',
      DATABASE_HOST: 'db.internal',
      DATABASE_PORT: { 'Fn::GetAtt': ['Database', 'Endpoint.Port'] },
      DATABASE_NAME: 'millrace',
      DATABASE_USER: 'millrace_producer',
      LOGIN_SECRET_ARN: 'arn:aws:secretsmanager:x',
      IAM_LOGINS: 'true',
      TOKENS_SECRET_ARN: 'arn:aws:secretsmanager:y',
      OPEN_ROLE: 'operator',
      WORKER_CONCURRENCY: '10',
      JOB_QUEUE: { 'Fn::Join': ['', [{ Ref: 'AWS::StackName' }, '-Jobs']] },
      TABLE: { Ref: 'Table' },
      TABLE_OF_A_REGION: { 'Fn::Join': ['/', [{ Ref: 'AWS::Region' }, { Ref: 'Table' }]] },
      NODE_OPTIONS: '--enable-source-maps',
    };
    const app = await readApp(await assemblyOf({ ...API, F: fn('Enqueue', { Environment: { Variables } }) }), HERE);
    const environment = app.routes[0]?.fn.environment;
    expect(environment).toMatchObject({
      DATABASE_URL: 'postgres://here/',
      WORKER_CONCURRENCY: '10',
      JOB_QUEUE: 'Stack-Jobs',
      AWS_LAMBDA_FUNCTION_NAME: 'Stack-F',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
    });
    const kept = ['WORKER_CONCURRENCY', 'NODE_OPTIONS', 'JOB_QUEUE'];
    for (const absent of [...Object.keys(Variables).filter((name) => !kept.includes(name)), 'VITEST'])
      expect(environment).not.toHaveProperty(absent);
  });

  test('every slot of every worker is a schedule of its own; what else the stack has is passed over', async () => {
    const slot = (path: string, target: string, Input: string) =>
      schedule(path, arn(target), { Target: { Arn: arn(target), Input, DeadLetterConfig: { Arn: arn('Failed') } } });
    const app = await readApp(
      await assemblyOf({
        Work: fn('Jobs/Work'),
        Reports: fn('Jobs/WorkReports'),
        // Never run here, so it need not even have code.
        Rotate: fn('Jobs/Rotate', {}, {}),
        Rotation: { Type: 'AWS::SecretsManager::RotationSchedule', Properties: { RotationLambdaARN: arn('Rotate') } },
        Image: { Type: 'AWS::Lambda::Function', Properties: { PackageType: 'Image' } },
        Failed: { Type: 'AWS::SQS::Queue', Properties: {} },
        Async: {
          Type: 'AWS::Lambda::EventInvokeConfig',
          Properties: {
            FunctionName: { Ref: 'Work' },
            DestinationConfig: { OnFailure: { Destination: arn('Failed') } },
          },
        },
        S: slot('Jobs/WorkSchedule', 'Work', '{"slot":0}'),
        S1: slot('Jobs/WorkSchedule1', 'Work', '{"slot":1}'),
        R: slot('Jobs/WorkReportsSchedule', 'Reports', '{"slot":0}'),
        Elsewhere: schedule('Nightly', 'arn:aws:scheduler:::aws-sdk:sqs:sendMessage'),
      }),
      HERE,
    );
    expect(app.schedules).toMatchObject([
      { name: 'WorkSchedule', everySeconds: 60, event: { slot: 0 }, fn: { name: 'Work' } },
      { name: 'WorkSchedule1', everySeconds: 60, event: { slot: 1 }, fn: { name: 'Work' } },
      { name: 'WorkReportsSchedule', everySeconds: 60, event: { slot: 0 }, fn: { name: 'WorkReports' } },
    ]);
    expect(app.routes, 'without an API the schedules run').toEqual([]);
  });

  test('functions that start others know them by names that are theirs alone, and where to ask', async () => {
    const WAKE_FUNCTIONS = { 'Fn::Join': ['', ['{"*":"', { Ref: 'Work' }, '","far":"', arn('Work'), '"}']] };
    const directory = await assemblyOf({
      ...API,
      F: fn('Enqueue', { Environment: { Variables: { WAKE_FUNCTIONS } } }),
      Work: fn('Jobs/Work', { Environment: { Variables: { WORKER_PICKUP: 'instant' } } }),
      S: schedule('Tick', arn('Work')),
    });
    const shell = { WAKE_FUNCTIONS: '{"*":"elsewhere"}' };
    const app = await readApp(directory, { ...HERE, AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1' }, { shell });
    const [enqueue, work] = [app.routes[0]?.fn, app.schedules[0]?.fn];
    expect(JSON.parse(enqueue?.environment.WAKE_FUNCTIONS ?? '')).toEqual({
      '*': 'Stack-Work',
      far: 'arn:aws:lambda:us-east-1:000000000000:function:Stack-Work',
    });
    expect(enqueue?.environment).toMatchObject({
      AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1',
      AWS_ACCESS_KEY_ID: 'local',
    });
    expect([...app.woken]).toEqual([['Stack-Work', work]]);
    for (const absent of ['AWS_ENDPOINT_URL_LAMBDA', 'AWS_ACCESS_KEY_ID'])
      expect(work?.environment).not.toHaveProperty(absent);
  });

  test('a worker finds its secrets in the shell, and a note says which are not there', async () => {
    const WORKER_SECRETS = {
      'Fn::Join': [
        '',
        ['{"STRIPE_KEY":"', { Ref: 'Stripe' }, '","OPENAI_KEY":"arn:x","MAIL_KEY":"', { Ref: 'Mail' }, '"}'],
      ],
    };
    const directory = await assemblyOf({
      ...API,
      Work: fn('Jobs/Work', { Environment: { Variables: { WORKER_SECRETS } } }),
      Other: fn('Jobs/WorkOther', { Environment: { Variables: { WORKER_SECRETS } } }),
      S: schedule('Tick', arn('Work')),
      T: schedule('Tock', arn('Other')),
    });
    const app = await readApp(directory, HERE, { shell: { STRIPE_KEY: 'sk_test', MAIL_KEY: '', OTHER: 'x' } });
    for (const { fn: worker } of app.schedules) {
      expect(worker.environment).toMatchObject({ STRIPE_KEY: 'sk_test' });
      for (const absent of ['WORKER_SECRETS', 'OPENAI_KEY', 'MAIL_KEY', 'OTHER'])
        expect(worker.environment).not.toHaveProperty(absent);
    }
    expect(app.routes[0]?.fn.environment).not.toHaveProperty('STRIPE_KEY');
    expect(app.notes).toEqual([
      expect.stringContaining('processors and contracts find no OPENAI_KEY, MAIL_KEY, unless'),
    ]);
    expect(
      (await readApp(directory, HERE, { shell: { STRIPE_KEY: '1', MAIL_KEY: '2', OPENAI_KEY: '3' } })).notes,
    ).toEqual([]);
  });

  test.each([
    [{ F: fn('Enqueue') }, 'neither an HTTP API route nor a schedule'],
    [{ ...API, F: fn('Enqueue', {}, {}) }, 'Enqueue has no code from this repository'],
  ])('nothing to run is one sentence', async (resources, message) => {
    await expect(readApp(await assemblyOf(resources), HERE)).rejects.toMatchObject({
      code: 'template_unusable',
      message: expect.stringContaining(message),
    });
  });
});

test.each([
  ['rate(1 minute)', 60],
  ['rate(5 minutes)', 300],
  ['rate(2 hours)', 7200],
  ['rate(1 day)', 86_400],
  ['rate(0 minutes)', undefined],
  ['at(2030-01-01T00:00:00)', undefined],
])('%s is %s s', (expression, seconds) => {
  expect(rateSeconds(expression)).toBe(seconds);
});
