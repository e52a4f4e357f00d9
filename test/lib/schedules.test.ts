import { expect, test } from 'vitest';
import { idOf, only, propertiesOf, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();
const failed = { 'Fn::GetAtt': [idOf(queue.failedTicks), 'Arn'] };
const STARTED = [
  ['work', { slot: 0 }],
  ['reap', {}],
] as const;

test.each(STARTED)('%s starts each minute, and a missed tick is not made up for', (name, event) => {
  const id = idOf(queue.functions[name]);
  const schedule = only(template, 'AWS::Scheduler::Schedule', { Target: { Arn: { 'Fn::GetAtt': [id, 'Arn'] } } });
  expect(schedule).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    State: 'ENABLED',
    Target: {
      RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      DeadLetterConfig: { Arn: failed },
    },
  });
  expect(JSON.parse(schedule.Target.Input)).toEqual(event);
  expect(only(template, 'AWS::Lambda::EventInvokeConfig', { FunctionName: { Ref: id } })).toMatchObject({
    Qualifier: '$LATEST',
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 60,
    DestinationConfig: { OnFailure: { Destination: failed } },
  });
});

test('nothing else is scheduled', () => {
  template.resourceCountIs('AWS::Scheduler::Schedule', 2);
});

test('the schedules may start these functions, and nobody but Scheduler may act for them', () => {
  const schedules = template.findResources('AWS::Scheduler::Schedule');
  const roles = new Set(Object.values(schedules).map(({ Properties }) => Properties.Target.RoleArn['Fn::GetAtt'][0]));
  expect(roles.size).toBe(1);
  const [role] = [...roles];
  const { Statement } = only(template, 'AWS::IAM::Policy', { Roles: [{ Ref: role }] }).PolicyDocument;
  expect(Statement.flatMap(({ Action }: { Action: string }) => Action)).toEqual(
    expect.arrayContaining(['sqs:SendMessage', 'lambda:InvokeFunction']),
  );
  const invoked = Statement.filter(({ Action }: { Action: string }) => Action === 'lambda:InvokeFunction');
  expect(new Set(invoked.flatMap(({ Resource }: { Resource: unknown }) => Resource))).toEqual(
    new Set(STARTED.map(([name]) => ({ 'Fn::GetAtt': [idOf(queue.functions[name]), 'Arn'] }))),
  );
  const trusted = template.toJSON().Resources[role].Properties.AssumeRolePolicyDocument.Statement;
  expect(trusted).toMatchObject([
    {
      Principal: { Service: 'scheduler.amazonaws.com' },
      Condition: {
        StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' }, 'aws:SourceArn': expect.anything() },
      },
    },
  ]);
});

test('what fails is kept encrypted for two weeks', () => {
  expect(propertiesOf(template, queue.failedTicks)).toMatchObject({
    SqsManagedSseEnabled: true,
    MessageRetentionPeriod: 14 * 24 * 60 * 60,
  });
});
