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
      WORKER_CONCURRENCY: '10',
      TABLE: { Ref: 'Table' },
      NODE_OPTIONS: '--enable-source-maps',
    };
    const app = await readApp(await assemblyOf({ ...API, F: fn('Enqueue', { Environment: { Variables } }) }), HERE);
    const environment = app.routes[0]?.fn.environment;
    expect(environment).toMatchObject({
      DATABASE_URL: 'postgres://here/',
      WORKER_CONCURRENCY: '10',
      AWS_LAMBDA_FUNCTION_NAME: 'Enqueue',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
    });
    for (const absent of ['DATABASE_SECRET_ARN', 'DATABASE_CA_FILE', 'TABLE', 'VITEST'])
      expect(environment).not.toHaveProperty(absent);
  });

  test.each([
    [{ F: fn('Enqueue') }, 'no HTTP API route'],
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
