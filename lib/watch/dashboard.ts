import { Duration } from 'aws-cdk-lib';
import type * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Monitored } from '../database/database.ts';
import { hasCredits } from './database-alarms.ts';
import { type JobQueueMetrics, PUBLISHED_METRICS, type PublishedMetric } from './metrics.ts';
import { dollarsOf, dollarsOfRequests, gibibyteSeconds } from './running-cost.ts';

export interface DashboardProps {
  readonly metrics: JobQueueMetrics;
  readonly alarms: readonly cloudwatch.Alarm[];
  /** The functions that claim jobs. */
  readonly workers: readonly lambda.Function[];
  /** All others that run again and again: the reaper, those behind the API, the authorizer. */
  readonly others: readonly lambda.Function[];
  readonly failedTicks: sqs.IQueue;
  /** @default - there is no API */
  readonly http?: apigateway.HttpApi | undefined;
  /** @default - CloudWatch does not know the database */
  readonly database?: Monitored | undefined;
}

const FIVE_MINUTES = { period: Duration.minutes(5) };
const FULL_WIDTH = 24;
/** Hours of a month, as AWS counts them. */
const HOURS = 730;

/** One page with four questions: is it alive, is it keeping up, what fails, what does it cost. */
export class Dashboard extends Construct {
  readonly dashboard: cloudwatch.Dashboard;

  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    this.dashboard = new cloudwatch.Dashboard(this, 'Page', {
      defaultInterval: Duration.hours(12),
      widgets: [...alive(props), ...keepingUp(props), ...failing(props), ...costing(props)],
    });
  }
}

type Row = cloudwatch.IWidget[];

/** A heading, and what answers it side by side. */
function row(
  question: string,
  hint: string,
  graphs: readonly (false | ((width: number) => cloudwatch.IWidget))[],
): Row[] {
  const shown = graphs.filter((graph) => graph !== false);
  const markdown = `## ${question}\n${hint}`;
  return [
    [new cloudwatch.TextWidget({ markdown, width: FULL_WIDTH, height: 2 })],
    shown.map((graph) => graph(Math.floor(FULL_WIDTH / shown.length))),
  ];
}

function alive({ metrics, alarms, http }: DashboardProps): Row[] {
  return row('Is it alive?', 'A run of each worker starts each minute. What an alarm means is in `docs/runbook.md`.', [
    (width) => new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width, height: 6 }),
    graph('Runs of workers started a minute', [labelled(metrics, 'TicksStarted')]),
    http !== undefined &&
      graph('API requests', [
        http.metricCount({ ...FIVE_MINUTES, label: 'Requests' }),
        http.metricServerError({ ...FIVE_MINUTES, label: '5xx' }),
        http.metricClientError({ ...FIVE_MINUTES, label: '4xx' }),
      ]),
  ]);
}

function keepingUp({ metrics, http, database }: DashboardProps): Row[] {
  return row('Is it keeping up?', 'An age that grows means too few workers, a pause, or a database at its end.', [
    graph('Age of the oldest due job (s)', [labelled(metrics, 'OldestDueAge')]),
    graph('Jobs', [labelled(metrics, 'JobsPending'), labelled(metrics, 'JobsCompleted', FIVE_MINUTES)]),
    http !== undefined &&
      graph('API latency (ms)', [
        http.metricLatency({ ...FIVE_MINUTES, statistic: cloudwatch.Stats.percentile(50), label: 'half below' }),
        http.metricLatency({ ...FIVE_MINUTES, statistic: cloudwatch.Stats.percentile(99), label: '99% below' }),
      ]),
    database !== undefined &&
      graph('Database', [databaseMetric(database, 'CPUUtilization', 'CPU (%)')], {
        right: [databaseMetric(database, 'DatabaseConnections', 'Connections')],
      }),
  ]);
}

function failing({ metrics, workers, others, failedTicks }: DashboardProps): Row[] {
  const counted = { ...FIVE_MINUTES, statistic: cloudwatch.Stats.SUM };
  const errors = [...workers, ...others].map((fn) => fn.metricErrors({ ...counted, label: fn.node.id }));
  return row(
    'What fails?',
    'Jobs fail by themselves, on the left; functions on the right, and then it is not the job.',
    [
      graph('Jobs', [
        labelled(metrics, 'JobsRetried', FIVE_MINUTES),
        labelled(metrics, 'JobsBuried', FIVE_MINUTES),
        labelled(metrics, 'JobsReaped', FIVE_MINUTES),
      ]),
      graph('Waiting for somebody', [
        labelled(metrics, 'JobsDead'),
        labelled(metrics, 'KindsUnclaimed'),
        failedTicks.metricApproximateNumberOfMessagesVisible({ ...FIVE_MINUTES, label: 'Failed runs kept' }),
      ]),
      graph('Errors of functions', errors),
      graph('Vacuum', [labelled(metrics, 'XminAge')]),
    ],
  );
}

function costing({ workers, others, http, database }: DashboardProps): Row[] {
  const dollars = [dollarsOf(workers, 'Workers'), dollarsOf(others, 'Other functions')];
  if (http) dollars.push(dollarsOfRequests(http, 'API requests'));
  const monthly = new cloudwatch.MathExpression({
    label: 'Dollars a month at the rate of the last hour',
    period: Duration.hours(1),
    expression: `(${dollars.map((_, at) => `e${at}`).join(' + ')}) * ${HOURS}`,
    usingMetrics: Object.fromEntries(dollars.map((each, at) => [`e${at}`, each])),
  });
  const hint =
    'What use adds to the fixed price, at list prices of us-east-1. Database, network, secrets, metrics and alarms cost the same whatever happens.';
  return row('What does it cost?', hint, [
    (width) =>
      new cloudwatch.SingleValueWidget({ title: 'Functions and requests', metrics: [monthly], width, height: 6 }),
    graph('Dollars an hour', dollars, { stacked: true }),
    graph('GiB-seconds an hour', [gibibyteSeconds(workers, 'Worker time'), gibibyteSeconds(others, 'Other time')], {
      stacked: true,
    }),
    database?.kind === 'instance' &&
      graph('Disk of the database', [databaseMetric(database, 'FreeStorageSpace', 'Free bytes')], {
        right: hasCredits(database)
          ? [databaseMetric(database, 'CPUSurplusCreditsCharged', 'CPU credits charged')]
          : [],
      }),
  ]);
}

function labelled(metrics: JobQueueMetrics, name: PublishedMetric, options: cloudwatch.MetricOptions = {}) {
  return metrics.metric(name, { label: PUBLISHED_METRICS[name].label, ...options });
}

function databaseMetric(database: Monitored, name: string, label: string): cloudwatch.Metric {
  const options = { ...FIVE_MINUTES, label };
  return database.kind === 'cluster' ? database.cluster.metric(name, options) : database.instance.metric(name, options);
}

function graph(
  title: string,
  left: cloudwatch.IMetric[],
  { right = [], stacked = false }: { right?: cloudwatch.IMetric[]; stacked?: boolean } = {},
) {
  return (width: number) =>
    new cloudwatch.GraphWidget({ title, left, right, stacked, width, height: 6, leftYAxis: { min: 0 } });
}
