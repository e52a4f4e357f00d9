import { Duration } from 'aws-cdk-lib';
import type * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import type { AlarmRule } from './alarm-rule.ts';
import type { JobQueueMetrics } from './metrics.ts';

const ONE_MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const { SUM, MINIMUM } = cloudwatch.Stats;

/** What the queue says of itself. */
export function queueAlarms(metrics: JobQueueMetrics): AlarmRule[] {
  return [
    {
      id: 'OldestDueAge',
      says: 'Jobs have been due for more than 10 minutes, or the reaper no longer measures it.',
      // Ten minutes, for five in a row: a burst that one worker gets through in less is what a queue is for.
      metric: metrics.metric('OldestDueAge', { period: ONE_MINUTE }),
      threshold: 600,
      periods: 5,
      // The reaper measures it each minute: without it nothing is taken back from workers that died.
      missing: 'beyond',
    },
    {
      id: 'DeadLetters',
      says: 'Jobs became dead: all their attempts failed, or one failed for good.',
      // Each is lost work until somebody redrives it; attempts that will be made again do not count.
      metric: metrics.metric('JobsBuried', { period: FIVE_MINUTES }),
      threshold: 1,
      periods: 1,
    },
    {
      id: 'ReapedLeases',
      says: 'Workers died, hung or lost the database in the middle of jobs, more than once in half an hour.',
      // Once is a sandbox that AWS took away; the jobs run again by themselves.
      metric: metrics.metric('JobsReaped', { period: FIVE_MINUTES }),
      threshold: 1,
      periods: 6,
      beyond: 2,
    },
    {
      id: 'NoTick',
      says: 'No run of a worker started for 5 minutes.',
      // A run says so when it starts, one is due each minute, and CloudWatch may see it up to two minutes late.
      metric: metrics.metric('TicksStarted', { period: ONE_MINUTE }),
      threshold: 1,
      comparison: '<',
      periods: 5,
      missing: 'beyond',
    },
    {
      id: 'UnclaimedKinds',
      says: 'For 15 minutes jobs have been due that no worker claims.',
      // The lowest of 5 minutes, three times: as long as a run of the release before may still go on during a deploy.
      metric: metrics.metric('KindsUnclaimed', { period: FIVE_MINUTES, statistic: MINIMUM }),
      threshold: 1,
      periods: 3,
      missing: 'ignore',
    },
    {
      id: 'PinnedVacuum',
      says: 'For half an hour vacuum has not been able to remove what the last million transactions left behind.',
      // A queue leaves a few dead rows a transaction: at a million that is up to a gigabyte, and a nightly dump is past.
      metric: metrics.metric('XminAge', { period: FIVE_MINUTES, statistic: MINIMUM }),
      threshold: 1_000_000,
      periods: 6,
      missing: 'ignore',
    },
  ];
}

/**
 * Errors and throttles of all that is started by the clock, in one metric: what fails, or finds no place for 60 s, goes to
 * this queue, and whichever function it was stands in the message. Errors and Throttles of each function would cost four
 * times as much, and more with each worker. SQS is up to 15 minutes late when its queue was empty for hours; that no run
 * starts at all, NoTick says earlier.
 */
export function failedRunsAlarm(failedTicks: sqs.IQueue): AlarmRule {
  return {
    id: 'FailedRuns',
    says: 'Runs of workers or of the reaper failed, or Lambda had no place for them.',
    // A database that restarts takes two minutes, and with them two runs of the worker and two of the reaper.
    metric: failedTicks.metricNumberOfMessagesSent({ period: Duration.minutes(15), statistic: SUM }),
    threshold: 6,
    periods: 1,
  };
}

/** Errors, timeouts and throttles of the API's functions, the authorizer's included: the gateway makes a 5xx of each. */
export function apiErrorsAlarm(http: apigateway.HttpApi): AlarmRule {
  return {
    id: 'ApiErrors',
    says: 'The API answers with 5xx, for more than 5 minutes.',
    // Two periods: one would be a database that restarts, which clients that heed Retry-After do not notice.
    metric: http.metricServerError({ period: FIVE_MINUTES, statistic: SUM }),
    threshold: 5,
    periods: 3,
    beyond: 2,
  };
}
