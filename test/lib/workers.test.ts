import { Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { describe, expect, test } from 'vitest';
import * as env from '../../functions/lambda/env.ts';
import type { Pickup } from '../../lib/index.ts';
import { idOf, type Properties, propertiesOf, type Synthesized, synthesize } from './synthesize.ts';

const STRIPE_ARN = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:stripe-AbCdEf';

function variablesOf({ template }: Synthesized, fn: lambda.Function | undefined): Properties {
  return fn ? propertiesOf(template, fn).Environment.Variables : {};
}

/** Text out of `Fn::Join`, each reference as `<logical id>`. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const { 'Fn::Join': join, Ref } = value as { 'Fn::Join'?: [string, unknown[]]; Ref?: string };
  return join ? join[1].map(textOf).join(join[0]) : `<${Ref}>`;
}

test('the worker default alone is told no queues: its contracts name them', () => {
  const usual = synthesize();
  const fn = usual.queue.workerFunction();
  const variables = variablesOf(usual, fn);
  expect(fn).toBe(usual.queue.functions.work);
  expect(propertiesOf(usual.template, fn)).toMatchObject({ MemorySize: 256, Timeout: 120 });
  expect(Object.keys(variables)).not.toContain('WORKER_QUEUES');
  expect(Object.keys(variables)).not.toContain('WORKER_SECRETS');
  expect(env.readEnv(env.workerEnv, variables)).toMatchObject({
    WORKER_CONCURRENCY: 10,
    WORKER_TRANSACTIONS: 2,
    WORKER_PICKUP: 'second',
  });
});

describe('with workers of their own queues', () => {
  const made = synthesize(
    (stack) => ({
      pickup: 'instant',
      workers: { reports: { queues: ['reports', 'exports'], concurrency: 1, transactions: 0, max: 3 } },
      environment: { STRIPE_MODE: 'test' },
      secrets: {
        STRIPE_KEY: secretsmanager.Secret.fromSecretCompleteArn(stack, 'Stripe', STRIPE_ARN),
        MAIL_KEY: new secretsmanager.Secret(stack, 'Mail') as unknown as secretsmanager.ISecret,
      },
    }),
    (made, stack) => {
      made.grantWake(new iam.Role(stack, 'Caller', { assumedBy: new iam.AccountRootPrincipal() }));
    },
  );
  const { queue, template } = made;
  const reports = queue.workerFunction('reports');
  const both = [queue.workerFunction(), reports];

  test('each is told its queues and its measure', () => {
    expect(both.map((fn) => fn.node.id)).toEqual(['Work', 'WorkReports']);
    expect(env.readEnv(env.workerEnv, { ...variablesOf(made, reports), WORKER_SECRETS: '' })).toMatchObject({
      WORKER_QUEUES: ['reports', 'exports'],
      WORKER_CONCURRENCY: 1,
      WORKER_TRANSACTIONS: 0,
      WORKER_PICKUP: 'instant',
    });
    expect(variablesOf(made, both[0]).WORKER_QUEUES).toBe('default');
  });

  test('all start each minute, once for each slot', () => {
    const schedules = Object.values(template.findResources('AWS::Scheduler::Schedule')).map(
      ({ Metadata, Properties }) => [Properties.Target.Arn['Fn::GetAtt'][0], Properties.Target.Input, Metadata],
    );
    expect(schedules.map(([fn, input]) => [fn, JSON.parse(input)])).toEqual([
      [idOf(both[0] as lambda.Function), { slot: 0 }],
      [idOf(reports), { slot: 0 }],
      [idOf(reports), { slot: 1 }],
      [idOf(reports), { slot: 2 }],
      [idOf(queue.functions.reap), {}],
    ]);
  });

  test('they have what processors need, and nobody else has', () => {
    for (const fn of both) {
      const variables = variablesOf(made, fn);
      expect(variables.STRIPE_MODE).toBe('test');
      expect(JSON.parse(textOf(variables.WORKER_SECRETS))).toEqual({
        STRIPE_KEY: STRIPE_ARN,
        MAIL_KEY: expect.stringMatching(/^<Mail/),
      });
    }
    const others = Object.values(queue.functions).filter((fn) => !both.includes(fn));
    expect(others.filter((fn) => 'STRIPE_MODE' in variablesOf(made, fn))).toEqual([]);
    expect(others.filter((fn) => 'WORKER_SECRETS' in variablesOf(made, fn))).toEqual([]);
  });

  /** Construct ids of the roles that a statement with these words is for. */
  const rolesWith = (...words: string[]) =>
    Object.values(template.findResources('AWS::IAM::Policy'))
      .filter(({ Properties }) =>
        Properties.PolicyDocument.Statement.some((statement: unknown) =>
          words.every((word) => JSON.stringify(statement).includes(word)),
        ),
      )
      .flatMap(({ Properties }) => Properties.Roles.map(({ Ref }: { Ref: string }) => Ref));

  test('the secrets of the processors are for the workers to read', () => {
    const workerRoles = both.map(({ role }) => role && idOf(role)).toSorted();
    expect(rolesWith('secretsmanager:GetSecretValue', STRIPE_ARN).toSorted()).toEqual(workerRoles);
  });

  test('the functions behind the API know whom to wake for which queue, and may', () => {
    const { enqueue, manage, ...others } = queue.functions;
    for (const fn of [enqueue, manage]) {
      expect(JSON.parse(textOf(variablesOf(made, fn).WAKE_FUNCTIONS))).toEqual({
        '*': `<${idOf(queue.functions.work)}>`,
        reports: `<${idOf(reports)}>`,
        exports: `<${idOf(reports)}>`,
      });
    }
    expect(Object.values(others).filter((fn) => 'WAKE_FUNCTIONS' in variablesOf(made, fn))).toEqual([]);
    const told = Stack.of(queue).resolve(queue.wakeFunctions);
    expect(told, 'a caller of their own is told the same').toEqual(variablesOf(made, enqueue).WAKE_FUNCTIONS);
    const wakers = [enqueue, manage].map((fn) => fn?.role && idOf(fn.role));
    expect(rolesWith('lambda:InvokeFunction', `"${idOf(reports)}"`).toSorted()).toEqual([
      expect.stringMatching(/^Caller/),
      ...wakers,
      expect.stringMatching(/^JobsSchedulesRole/),
    ]);
  });
});

test('more queues than the API has room to know are refused, where it wakes workers', () => {
  const queues = Array.from({ length: 40 }, (_, at) => `tenant-${at}-reports`);
  const withPickup = (pickup: Pickup) => () => synthesize(() => ({ pickup, workers: { reports: { queues } } }));
  expect(withPickup('instant')).toThrow(/^workers must name few enough queues .* they take \d{4} bytes there, of 3072/);
  expect(withPickup('second')).not.toThrow();
  expect(() => withPickup('second')().queue.wakeFunctions).toThrow(/^workers must name few enough queues/);
});

test.each([
  ['video', 'vidoe', ['workers.video.queues: no contract names "vidoe"; the queues of contracts are "default".']],
  ['default', 'default', []],
])('worker %s, queue %s: %j is said at synth', (worker, queue, sentences) => {
  synthesize(
    () => ({ workers: { [worker]: { queues: [queue] } } }),
    (_, stack) => {
      const found = Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp('no contract names'));
      expect(found.map(({ entry }) => String(entry.data).replace(/ Correct it.*$/s, ''))).toEqual(sentences);
    },
  );
});
