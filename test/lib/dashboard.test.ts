import type { Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { Alarms } from '../../lib/watch/alarms.ts';
import { Dashboard, type DashboardProps } from '../../lib/watch/dashboard.ts';
import { JobQueueMetrics, PUBLISHED_METRICS } from '../../lib/watch/metrics.ts';
import { someCluster, someFunction, someInstance, stackOf } from './parts.ts';
import { only, type Properties } from './synthesize.ts';

/** The widgets of the page. References in it are replaced by the id that they point to. */
function widgetsOf(props: (stack: Stack) => Partial<DashboardProps> = () => ({})): Properties[] {
  const { template } = stackOf((stack) => {
    const metrics = new JobQueueMetrics('Jobs');
    const failedTicks = new sqs.Queue(stack, 'FailedTicks');
    const { alarms } = new Alarms(stack, 'Alarms', { metrics, failedTicks });
    new Dashboard(stack, 'Dashboard', {
      metrics,
      alarms,
      failedTicks,
      workers: [someFunction(stack, 'Work', { memorySize: 256 })],
      others: [someFunction(stack, 'Reap', { memorySize: 1024, architecture: lambda.Architecture.X86_64 })],
      ...props(stack),
    });
  });
  const [, parts] = only(template, 'AWS::CloudWatch::Dashboard').DashboardBody['Fn::Join'];
  const text = parts.map((part: string | Properties) =>
    typeof part === 'string' ? part : (part.Ref ?? part['Fn::GetAtt']?.[0]),
  );
  return JSON.parse(text.join('')).widgets;
}

const full = (stack: Stack) => ({ http: new apigateway.HttpApi(stack, 'Http'), database: someInstance(stack) });
const widgets = widgetsOf(full);
const named = (title: string) => widgets.find(({ properties }) => properties.title === title)?.properties;

test('it answers four questions, each in a row that fits the page', () => {
  const questions = widgets
    .filter(({ type }) => type === 'text')
    .map(({ properties }) => properties.markdown.split('\n')[0]);
  expect(questions).toEqual(['## Is it alive?', '## Is it keeping up?', '## What fails?', '## What does it cost?']);
  const rows = Object.values(Object.groupBy(widgets, ({ y }) => y)) as Properties[][];
  expect(rows).toHaveLength(8);
  for (const row of rows) expect(row.reduce((sum, { width }) => sum + width, 0)).toBe(24);
});

test('all that is published is on it, and nothing that is not', () => {
  const metrics = [...JSON.stringify(widgets).matchAll(/\["Millrace","(\w+)"/g)].map(([, name]) => name);
  expect([...new Set(metrics)].sort()).toEqual(Object.keys(PUBLISHED_METRICS).sort());
});

test('every alarm shows', () => {
  expect(named('Alarms')?.alarms).toHaveLength(7);
});

test('without API and database it shows neither, and the rows fit all the same', () => {
  const own = widgetsOf();
  expect(JSON.stringify(own)).not.toMatch(/AWS\/(ApiGateway|RDS)/);
  const rows = Object.values(Object.groupBy(own, ({ y }) => y)) as Properties[][];
  for (const row of rows) expect(row.reduce((sum, { width }) => sum + width, 0)).toBe(24);
});

test('a cluster is shown by what Aurora has', () => {
  const own = widgetsOf((stack) => ({ database: someCluster(stack) }));
  const metrics = [...JSON.stringify(own).matchAll(/\["AWS\/RDS","(\w+)","(\w+)"/g)].map(([, name, by]) => [name, by]);
  expect(metrics).toEqual([
    ['CPUUtilization', 'DBClusterIdentifier'],
    ['DatabaseConnections', 'DBClusterIdentifier'],
  ]);
});

test('credits are shown of classes that have them', () => {
  const own = widgetsOf((stack) => ({ database: someInstance(stack, { instanceClass: 'db.m7g.large' }) }));
  expect(JSON.stringify(own)).not.toContain('Credits');
  expect(JSON.stringify(widgets)).toContain('CPUSurplusCreditsCharged');
});

describe('the price', () => {
  /** What a graph's expressions come to, by label, with these values of its metrics by name. */
  function evaluated(title: string, values: Readonly<Record<string, number>>): Record<string, number> {
    const lines: unknown[][] = named(title)?.metrics ?? [];
    const rows: Properties[] = lines.map((row) => ({ row, ...(row.at(-1) as Properties) }));
    const worthOf = (id: string): number => {
      const { row, expression } = rows.find((candidate) => candidate.id === id) as Properties;
      return expression ? sumOf(expression) : (values[`${row[0]} ${row[1]}`] ?? 0);
    };
    /** `FILL(a, 0) * 2 + FILL(b, 0) * 3`, or `(a + b) * 4`. */
    const sumOf = (expression: string): number => {
      const [, sum, factor] = /^\((.+)\) \* (\d+)$/.exec(expression) ?? [undefined, expression, '1'];
      const terms = (sum as string).split(' + ').map((term) => {
        const [, id = term, times = '1'] = /^FILL\((\w+), 0\) \* ([\d.]+)$/.exec(term) ?? [];
        return worthOf(id) * Number(times);
      });
      return terms.reduce((total, term) => total + term, 0) * Number(factor);
    };
    const shown = rows.filter(({ expression, visible }: Properties) => expression && visible !== false);
    return Object.fromEntries(shown.map(({ label, expression }: Properties) => [label, sumOf(expression)]));
  }

  test('of a worker that is always there is that of its memory, all month', () => {
    const hour = { 'AWS/Lambda Duration': 3_600_000, 'AWS/Lambda Invocations': 60 };
    const { Workers } = evaluated('Dollars an hour', hour);
    expect((Workers ?? 0) * 730).toBeCloseTo(0.25 * 3600 * 730 * 0.0000133334 + 60 * 730 * 0.0000002, 4);
  });

  test('of others is that of theirs, on their processor', () => {
    const { 'Other functions': others } = evaluated('Dollars an hour', { 'AWS/Lambda Duration': 3_600_000 });
    expect(others).toBeCloseTo(3600 * 0.0000166667, 6);
  });

  test('of a million requests is a dollar', () => {
    expect(evaluated('Dollars an hour', { 'AWS/ApiGateway Count': 1_000_000 })['API requests']).toBeCloseTo(1, 9);
  });

  test('of a month is 730 times that of the last hour, all of it', () => {
    const hour = { 'AWS/Lambda Duration': 3_600_000, 'AWS/Lambda Invocations': 60, 'AWS/ApiGateway Count': 1000 };
    const sum = Object.values(evaluated('Dollars an hour', hour)).reduce((a, b) => a + b, 0);
    const monthly = evaluated('Functions and requests', hour)['Dollars a month at the rate of the last hour'];
    expect(monthly).toBeCloseTo(sum * 730, 6);
  });

  test('in GiB-seconds is what Lambda bills by', () => {
    const used = evaluated('GiB-seconds an hour', { 'AWS/Lambda Duration': 1000 });
    expect(used).toEqual({ 'Worker time': 0.25, 'Other time': 1 });
  });
});
