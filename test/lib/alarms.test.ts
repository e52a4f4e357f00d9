import { readFileSync } from 'node:fs';
import type { Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { Alarms, type AlarmsProps } from '../../lib/watch/alarms.ts';
import { JobQueueMetrics } from '../../lib/watch/metrics.ts';
import { someCluster, someInstance, stackOf } from './parts.ts';
import type { Properties } from './synthesize.ts';

/** Alarms by construct id, as the template has them; by default those of the default stack. */
function alarmsOf(
  props: (stack: Stack) => Partial<AlarmsProps> = (stack) => ({ database: someInstance(stack) }),
): Record<string, Properties> {
  const { made, template, stack } = stackOf((stack) => {
    const { alarms } = new Alarms(stack, 'Alarms', {
      metrics: new JobQueueMetrics('Jobs'),
      failedTicks: new sqs.Queue(stack, 'FailedTicks'),
      http: new apigateway.HttpApi(stack, 'Http'),
      ...props(stack),
    });
    return alarms;
  });
  const resources = template.findResources('AWS::CloudWatch::Alarm');
  expect(Object.keys(resources)).toHaveLength(made.length);
  const propertiesOf = (alarm: (typeof made)[number]) =>
    resources[stack.getLogicalId(alarm.node.defaultChild as never)]?.Properties as Properties;
  return Object.fromEntries(made.map((alarm) => [alarm.node.id, propertiesOf(alarm)]));
}

const QUEUE = ['OldestDueAge', 'DeadLetters', 'ReapedLeases', 'NoTick', 'UnclaimedKinds', 'PinnedVacuum', 'FailedRuns'];
const DATABASE = ['DatabaseConnections', 'DatabaseCpu', 'DatabaseCpuCredits', 'DatabaseDiskBurst', 'DatabaseStorage'];
const alarms = alarmsOf();

describe('which there are', () => {
  test('thirteen, of one metric each: that is what they cost. The ids stay: another would forget what the alarm knew', () => {
    expect(Object.keys(alarms)).toEqual([...QUEUE, 'ApiErrors', ...DATABASE]);
    for (const [id, alarm] of Object.entries(alarms)) {
      expect(alarm.Metrics, id).toBeUndefined();
      expect(alarm.MetricName, id).toEqual(expect.any(String));
      // A high-resolution alarm costs three times as much.
      expect(alarm.Period, id).toBeGreaterThanOrEqual(60);
    }
  });

  test('without an API none for it, and of a database that CloudWatch does not know none either', () => {
    expect(Object.keys(alarmsOf(() => ({ http: undefined })))).toEqual(QUEUE);
  });

  test('of Aurora what Aurora has', () => {
    const own = alarmsOf((stack) => ({ database: someCluster(stack) }));
    expect(Object.keys(own)).toEqual([...QUEUE, 'ApiErrors', 'DatabaseConnections', 'DatabaseCpu']);
    expect(own.DatabaseCpu?.Dimensions).toEqual([{ Name: 'DBClusterIdentifier', Value: 'jobs-cluster' }]);
    expect(own.DatabaseConnections?.Threshold).toBe(800);
  });

  test.each<[string | undefined, readonly string[]]>([
    ['db.t4g.micro', ['DatabaseCpuCredits', 'DatabaseDiskBurst']],
    ['db.t3.2xlarge', ['DatabaseCpuCredits', 'DatabaseDiskBurst']],
    ['db.m7g.large', ['DatabaseDiskBurst']],
    ['db.r6g.4xlarge', []],
    [undefined, []],
  ])('of the class %s', (instanceClass, expected) => {
    const own = Object.keys(alarmsOf((stack) => ({ database: someInstance(stack, { instanceClass }) })));
    expect(own.filter((id) => ['DatabaseCpuCredits', 'DatabaseDiskBurst'].includes(id))).toEqual(expected);
    expect(own).toEqual(expect.arrayContaining(['DatabaseCpu', 'DatabaseConnections', 'DatabaseStorage']));
  });

  test('without the number of connections that the database takes none for them', () => {
    const own = alarmsOf((stack) => ({ database: someInstance(stack, { maxConnections: undefined }) }));
    expect(Object.keys(own)).not.toContain('DatabaseConnections');
  });
});

test('each looks at what it says', () => {
  const looked = Object.entries(alarms).map(([id, alarm]) => {
    const dimensions = alarm.Dimensions.map(({ Name }: { Name: string }) => Name).join();
    const compared = alarm.ComparisonOperator === 'LessThanThreshold' ? '<' : '>=';
    const { Namespace, MetricName, Statistic, Threshold, Period, EvaluationPeriods, DatapointsToAlarm } = alarm;
    const when = `${Statistic} ${compared} ${Threshold}, ${DatapointsToAlarm} of ${EvaluationPeriods} × ${Period} s`;
    return `${id}: ${Namespace} ${MetricName} (${dimensions}) ${when}, ${alarm.TreatMissingData}`;
  });
  expect(looked).toEqual([
    'OldestDueAge: Millrace OldestDueAge (JobQueue) Maximum >= 600, 5 of 5 × 60 s, breaching',
    'DeadLetters: Millrace JobsBuried (JobQueue) Sum >= 1, 1 of 1 × 300 s, notBreaching',
    'ReapedLeases: Millrace JobsReaped (JobQueue) Sum >= 1, 2 of 6 × 300 s, notBreaching',
    'NoTick: Millrace TicksStarted (JobQueue) Sum < 1, 5 of 5 × 60 s, breaching',
    'UnclaimedKinds: Millrace KindsUnclaimed (JobQueue) Minimum >= 1, 3 of 3 × 300 s, ignore',
    'PinnedVacuum: Millrace XminAge (JobQueue) Minimum >= 1000000, 6 of 6 × 300 s, ignore',
    'FailedRuns: AWS/SQS NumberOfMessagesSent (QueueName) Sum >= 6, 1 of 1 × 900 s, notBreaching',
    'ApiErrors: AWS/ApiGateway 5xx (ApiId) Sum >= 5, 2 of 3 × 300 s, notBreaching',
    'DatabaseConnections: AWS/RDS DatabaseConnections (DBInstanceIdentifier) Maximum >= 63, 5 of 5 × 60 s, notBreaching',
    'DatabaseCpu: AWS/RDS CPUUtilization (DBInstanceIdentifier) Average >= 90, 3 of 3 × 300 s, notBreaching',
    'DatabaseCpuCredits: AWS/RDS CPUCreditBalance (DBInstanceIdentifier) Maximum < 6, 12 of 12 × 300 s, notBreaching',
    'DatabaseDiskBurst: AWS/RDS EBSIOBalance% (DBInstanceIdentifier) Minimum < 33, 3 of 3 × 300 s, notBreaching',
    'DatabaseStorage: AWS/RDS FreeStorageSpace (DBInstanceIdentifier) Minimum < 1717986918, 3 of 3 × 300 s, notBreaching',
  ]);
});

test('a larger disk has more to spare before anybody is called', () => {
  const own = alarmsOf((stack) => ({ database: someInstance(stack, { allocatedGibibytes: 1000 }) }));
  expect(own.DatabaseStorage?.Threshold).toBe(80 * 1024 ** 3);
});

/** Whether an alarm is raised after these periods, the latest last; a gap is one without data. CloudWatch has an alarm's own state for `ignore`. */
function raised(id: string, values: readonly (number | null)[]): boolean {
  const alarm = alarms[id] as Properties;
  const beyond = (value: number) =>
    alarm.ComparisonOperator === 'LessThanThreshold' ? value < alarm.Threshold : value >= alarm.Threshold;
  const judged = values
    .slice(-alarm.EvaluationPeriods)
    .map((value) => (value === null ? alarm.TreatMissingData === 'breaching' : beyond(value)));
  return judged.filter(Boolean).length >= alarm.DatapointsToAlarm;
}

describe('when somebody is called', () => {
  test.each<[string, string, (number | null)[]]>([
    ['no run has started for five minutes', 'NoTick', [1, 1, null, null, null, null, null]],
    ['runs start nowhere, and the metric says so', 'NoTick', [0, 0, 0, 0, 0]],
    ['jobs have waited for a quarter of an hour', 'OldestDueAge', [610, 670, 730, 790, 850]],
    ['the reaper is gone', 'OldestDueAge', [0, null, null, null, null, null]],
    ['one job is dead', 'DeadLetters', [null, null, 1]],
    ['workers die again and again', 'ReapedLeases', [10, 0, 0, 10]],
    ['a kind was deployed to the API alone', 'UnclaimedKinds', [0, 1, 1, 1]],
    ['a transaction is left open over lunch', 'PinnedVacuum', [1e6, 2e6, 3e6, 4e6, 5e6, 6e6]],
    ['a worker fails at each tick', 'FailedRuns', [15]],
    ['the API fails', 'ApiErrors', [0, 50, 60]],
    ['a loop uses up all connections', 'DatabaseConnections', [70, 70, 70, 70, 70]],
    ['the credits are gone', 'DatabaseCpuCredits', Array(12).fill(0)],
  ])('%s', (_, id, values) => expect(raised(id, values)).toBe(true));

  test.each<[string, string, (number | null)[]]>([
    ['a tick is missed', 'NoTick', [1, 1, null, 1, 1]],
    ['a run takes fifteen minutes and others start', 'NoTick', [1, 1, 1, 1, 1]],
    ['a burst takes six minutes', 'OldestDueAge', [60, 120, 180, 240, 300, 360, 0]],
    ['the reaper misses a tick', 'OldestDueAge', [0, 0, null, 0, 0]],
    ['one sandbox dies', 'ReapedLeases', [0, 0, 10, 0, 0, 0]],
    ['a deploy is under way', 'UnclaimedKinds', [0, 1, 1, 0]],
    ['a backup runs for twenty minutes', 'PinnedVacuum', [2e6, 3e6, 4e6, 5e6, 0, 0]],
    ['the database restarts', 'FailedRuns', [4]],
    ['the database restarts under requests', 'ApiErrors', [0, 300, 0]],
    ['nobody asks the API', 'ApiErrors', [null, null, null]],
    ['requests come in a burst', 'DatabaseConnections', [20, 70, 70, 20, 20]],
    ['the instance is new', 'DatabaseCpuCredits', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ['nothing happens at all', 'DeadLetters', [null]],
  ])('nobody is when %s', (_, id, values) => expect(raised(id, values)).toBe(false));
});

describe('who is called', () => {
  test('nobody by default: they show in CloudWatch', () => {
    for (const { AlarmActions, OKActions } of Object.values(alarms)) {
      expect([AlarmActions, OKActions]).toEqual([undefined, undefined]);
    }
  });

  test('the topic, of each alarm and of its end', () => {
    const own = alarmsOf((stack) => ({
      database: someInstance(stack),
      topic: new sns.Topic(stack, 'OnCall') as never as sns.ITopic,
    }));
    const topic = [{ Ref: expect.stringMatching(/^OnCall/) }];
    for (const alarm of Object.values(own)) {
      expect(alarm).toMatchObject({ AlarmActions: topic, OKActions: topic });
    }
  });
});

describe('docs/runbook.md', () => {
  const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
  const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const anchorOf = (heading: string) => heading.toLowerCase().replaceAll(' ', '-');

  test('has a heading for each alarm, which its description names, and none beside', () => {
    const named = Object.values(alarms).map(({ AlarmDescription }) => {
      const [, says, anchor] =
        /^([A-Z][^.!?]*\.) What to do: docs\/runbook\.md#([a-z-]+)$/.exec(AlarmDescription) ?? [];
      expect(says, AlarmDescription).toBeDefined();
      return anchor;
    });
    expect(headings.map(anchorOf)).toEqual(named);
  });

  test('says of each what it means, where to look and what to do', () => {
    const sections = runbook.split(/^## .+$/m).slice(1);
    for (const [at, section] of sections.entries()) {
      const parts = [...section.matchAll(/^\*\*(.+?)\*\*/gm)].map(([, part]) => part);
      expect(parts, headings[at]).toEqual(['What it means.', 'Where to look.', 'What to do.']);
    }
  });
});
