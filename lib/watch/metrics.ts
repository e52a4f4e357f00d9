import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { PublishedMetric } from '../../functions/lambda/telemetry.ts';

export type { PublishedMetric } from '../../functions/lambda/telemetry.ts';

const { SUM, MAXIMUM } = cloudwatch.Stats;

interface Published {
  readonly statistic: string;
  /** What graphs call it. An alarm of a metric with a label is an expression, which CloudWatch words less well. */
  readonly label: string;
}

/**
 * What workers and reaper publish, and how it adds up: of what they count, the sum; of what the reaper measures each minute,
 * the highest. Ten series, since each is paid for ($0.30 a month), and none by kind: twenty kinds would cost as much as the
 * database. docs/metrics.md says of each what it is.
 */
export const PUBLISHED_METRICS = {
  OldestDueAge: { statistic: MAXIMUM, label: 'Age of the oldest due job' },
  JobsPending: { statistic: MAXIMUM, label: 'Jobs pending' },
  JobsDead: { statistic: MAXIMUM, label: 'Jobs dead' },
  JobsReaped: { statistic: SUM, label: 'Leases that ran out' },
  KindsUnclaimed: { statistic: MAXIMUM, label: 'Kinds that no worker claims' },
  XminAge: { statistic: MAXIMUM, label: 'Transactions that vacuum must wait for' },
  TicksStarted: { statistic: SUM, label: 'Runs of workers started' },
  JobsCompleted: { statistic: SUM, label: 'Jobs completed' },
  JobsRetried: { statistic: SUM, label: 'Attempts failed, to be made again' },
  JobsBuried: { statistic: SUM, label: 'Jobs buried' },
} as const satisfies Readonly<Record<PublishedMetric, Published>>;

/** The metrics of one queue. */
export class JobQueueMetrics {
  /** Value of the one dimension, `JobQueue`: what workers and reaper are given as JOB_QUEUE. */
  readonly jobQueue: string;

  constructor(jobQueue: string) {
    this.jobQueue = jobQueue;
  }

  /** @param options - default: the metric's own statistic, by the minute, in which all of them are published */
  metric(name: PublishedMetric, options: cloudwatch.MetricOptions = {}): cloudwatch.Metric {
    return new cloudwatch.Metric({
      namespace: 'Millrace',
      metricName: name,
      period: Duration.minutes(1),
      statistic: PUBLISHED_METRICS[name].statistic,
      ...options,
      dimensionsMap: { JobQueue: this.jobQueue },
    });
  }
}
