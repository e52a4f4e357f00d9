import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Duration, Stack } from 'aws-cdk-lib';
import { expect, test, vi } from 'vitest';
import { putMetrics } from '../../functions/lambda/telemetry.ts';
import { JobQueueMetrics, PUBLISHED_METRICS, type PublishedMetric } from '../../lib/watch/metrics.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names = Object.keys(PUBLISHED_METRICS) as PublishedMetric[];

test.each(names)('%s is found where it is published, summed up as its kind is', (name) => {
  const metric = new JobQueueMetrics('Jobs').metric(name);
  expect(metric).toMatchObject({ namespace: 'Millrace', metricName: name, dimensions: { JobQueue: 'Jobs' } });
  expect(metric.period.toSeconds()).toBe(60);
  const counted = /^(Ticks|Jobs(Completed|Retried|Buried|Reaped))/.test(name);
  expect(metric.statistic).toBe(counted ? 'Sum' : 'Maximum');
});

test('a caller may ask for another statistic, period or label, and never for another queue', () => {
  const metric = new JobQueueMetrics('Jobs').metric('OldestDueAge', {
    statistic: 'Average',
    period: Duration.hours(1),
    label: 'Age',
    dimensionsMap: { JobQueue: 'Other' },
  });
  expect(new Stack().resolve(metric.toMetricConfig().metricStat)).toMatchObject({
    statistic: 'Average',
    period: Duration.hours(1),
    dimensions: [{ name: 'JobQueue', value: 'Jobs' }],
  });
});

test('ten series in all: each is paid for', () => {
  expect(names).toHaveLength(10);
});

test('the handlers publish these, and no others', () => {
  const published = globSync('functions/**/*.ts', { cwd: root }).flatMap((path) =>
    [...readFileSync(`${root}/${path}`, 'utf8').matchAll(/\b([A-Z]\w+)(?::| =) \[[^\]]*, '(?:Count|Seconds)'\]/g)].map(
      ([, name]) => name,
    ),
  );
  expect([...new Set(published)].sort()).toEqual([...names].sort());
});

test('they are looked for under the names by which the handlers publish them', () => {
  process.env.JOB_QUEUE = 'Jobs';
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => written.push(String(line)) > 0);
  putMetrics({ functionName: 'Work' }, { TicksStarted: [1, 'Count'] });
  write.mockRestore();
  delete process.env.JOB_QUEUE;
  const { _aws, ...values } = JSON.parse(written.join(''));
  const { namespace, metricName, dimensions = {} } = new JobQueueMetrics('Jobs').metric('TicksStarted');
  expect(_aws.CloudWatchMetrics).toEqual([
    { Namespace: namespace, Dimensions: [Object.keys(dimensions)], Metrics: [{ Name: metricName, Unit: 'Count' }] },
  ]);
  expect(values).toMatchObject({ ...dimensions, [metricName]: 1 });
});
