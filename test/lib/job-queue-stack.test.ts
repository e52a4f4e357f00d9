import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { type JobQueueProps, JobQueueStack } from '../../lib/index.ts';
import { idOf, inApp, SAMPLE } from './synthesize.ts';

function synthesized(props: Partial<JobQueueProps>) {
  return inApp({}, (app) => {
    const stack = new JobQueueStack(app, 'Millrace', { ...SAMPLE, ...props });
    return { queue: stack.queue, outputs: Template.fromStack(stack).toJSON().Outputs };
  });
}

test('it tells what somebody needs who has deployed it', () => {
  const { queue, outputs } = synthesized({});
  expect(Object.keys(outputs)).toEqual([
    'ApiUrl',
    'TokensSecretArn',
    'DatabaseHost',
    'AdminSecretArn',
    'LoginSecretArn',
    'ConnectionEstimate',
    'DashboardUrl',
  ]);
  expect(outputs.TokensSecretArn.Value).toEqual({ Ref: queue.tokens && idOf(queue.tokens) });
  expect(outputs.ConnectionEstimate.Value).toMatch(
    /^Up to \d+ connections at once \(.*\); the database takes about \d+\.$/,
  );
  expect(outputs.DashboardUrl.Value['Fn::Join'][1]).toEqual([
    'https://',
    { 'Fn::FindInMap': ['Consoles', { Ref: 'AWS::Partition' }, 'Domain'] },
    '/cloudwatch/home?region=',
    { Ref: 'AWS::Region' },
    '#dashboards/dashboard/',
    { Ref: idOf(queue.dashboard) },
  ]);
});

test('it does not speak of what there is not', () => {
  const { outputs } = synthesized({ api: false, databaseAuth: 'iam', migrations: 'external' });
  expect(Object.keys(outputs)).toEqual(['DatabaseHost', 'ConnectionEstimate', 'DashboardUrl']);
});
