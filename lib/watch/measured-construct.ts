import { Names } from 'aws-cdk-lib';
import type * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { JobQueueMetrics, type PublishedMetric } from './metrics.ts';

/**
 * What a queue publishes in the CloudWatch namespace `Millrace`, each minute. Of each metric the options say what differs
 * from its own statistic and period.
 */
export abstract class MeasuredConstruct extends Construct {
  /** Value of the one dimension, `JobQueue`, of all these metrics. */
  readonly metricsName: string;
  protected readonly metrics: JobQueueMetrics;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.metricsName = Names.uniqueResourceName(this, { maxLength: 100 });
    this.metrics = new JobQueueMetrics(this.metricsName);
  }

  /** Seconds for which the oldest due job has waited. */
  metricOldestDueAge(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('OldestDueAge', options);
  }

  /** Jobs that wait, due or not. */
  metricJobsPending(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('JobsPending', options);
  }

  /** Dead jobs that are kept. */
  metricJobsDead(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('JobsDead', options);
  }

  /** Jobs whose lease ran out: their worker died, or did not end in time. */
  metricJobsReaped(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('JobsReaped', options);
  }

  /** Kinds that have due jobs and no worker. */
  metricKindsUnclaimed(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('KindsUnclaimed', options);
  }

  /** Transactions that the oldest snapshot in the database holds back from vacuum. */
  metricXminAge(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('XminAge', options);
  }

  /** Runs of workers that started. */
  metricTicksStarted(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('TicksStarted', options);
  }

  /** Jobs completed. */
  metricJobsCompleted(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('JobsCompleted', options);
  }

  /** Attempts that failed and will be made again. */
  metricJobsRetried(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('JobsRetried', options);
  }

  /** Jobs buried: they failed for good. */
  metricJobsBuried(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.#metric('JobsBuried', options);
  }

  /** Attached: a stack elsewhere that shows or watches it names this account and region. */
  #metric(name: PublishedMetric, options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metrics.metric(name, options).attachTo(this);
  }
}
