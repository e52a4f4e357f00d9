import type * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import type * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type * as sns from 'aws-cdk-lib/aws-sns';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Monitored } from '../database/database.ts';
import { alarmOf } from './alarm-rule.ts';
import { databaseAlarms } from './database-alarms.ts';
import type { JobQueueMetrics } from './metrics.ts';
import { apiErrorsAlarm, failedRunsAlarm, queueAlarms } from './queue-alarms.ts';

export interface AlarmsProps {
  readonly metrics: JobQueueMetrics;
  /** Where runs go that failed or could not start. */
  readonly failedTicks: sqs.IQueue;
  /** @default - there is no API */
  readonly http?: apigateway.HttpApi | undefined;
  /** @default - CloudWatch does not know the database */
  readonly database?: Monitored | undefined;
  /** Is told of each alarm, and of its end. @default - nobody is told */
  readonly topic?: sns.ITopic | undefined;
}

/**
 * When somebody must look: at most 13 alarms of one metric each, $0.10 a month apiece. Each says what is the case, and where
 * docs/runbook.md says what to do. None is for one deploy, one retry or one restart.
 */
export class Alarms extends Construct {
  /** By construct id. */
  readonly alarms: readonly cloudwatch.Alarm[];

  constructor(scope: Construct, id: string, { metrics, failedTicks, http, database, topic }: AlarmsProps) {
    super(scope, id);
    const rules = [
      ...queueAlarms(metrics),
      failedRunsAlarm(failedTicks),
      ...(http ? [apiErrorsAlarm(http)] : []),
      ...(database ? databaseAlarms(database) : []),
    ];
    this.alarms = rules.map((rule) => alarmOf(this, rule));
    if (topic === undefined) return;
    for (const alarm of this.alarms) {
      alarm.addAlarmAction(new SnsAction(topic));
      alarm.addOkAction(new SnsAction(topic));
    }
  }
}
