import { expect, test } from 'vitest';
import { idOf, only, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();

test.each([
  ['work', { slot: 0 }],
  ['reap', {}],
] as const)('%s starts each minute, and a missed tick is not made up for', (name, event) => {
  const id = idOf(queue.functions[name]);
  const schedule = only(template, 'AWS::Scheduler::Schedule', { Target: { Arn: { 'Fn::GetAtt': [id, 'Arn'] } } });
  expect(schedule).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    State: 'ENABLED',
    Target: { RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } },
  });
  expect(JSON.parse(schedule.Target.Input)).toEqual(event);
  expect(only(template, 'AWS::Lambda::EventInvokeConfig', { FunctionName: { Ref: id } })).toMatchObject({
    Qualifier: '$LATEST',
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 60,
  });
});

test('nothing else is scheduled', () => {
  template.resourceCountIs('AWS::Scheduler::Schedule', 2);
});
