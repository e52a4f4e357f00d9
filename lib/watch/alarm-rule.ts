import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';

/** When somebody must look, as CloudWatch can tell. */
export interface AlarmRule {
  /** Construct id; its words are those of the heading in docs/runbook.md. */
  readonly id: string;
  /** One sentence: what is the case while it is in alarm. */
  readonly says: string;
  /** With the period and the statistic that are compared. One metric, no expression: each metric of an alarm is paid for. */
  readonly metric: cloudwatch.IMetric;
  readonly threshold: number;
  /** @default '>=' */
  readonly comparison?: '>=' | '<' | undefined;
  /** Periods that are looked at. */
  readonly periods: number;
  /** How many of them must be beyond the threshold. @default - all */
  readonly beyond?: number | undefined;
  /**
   * What a period without data counts as: `ignore` leaves the alarm as it was, which is right for what is measured each minute.
   * @default 'fine', which is right for what is counted when it happens
   */
  readonly missing?: 'fine' | 'beyond' | 'ignore' | undefined;
}

const { GREATER_THAN_OR_EQUAL_TO_THRESHOLD, LESS_THAN_THRESHOLD } = cloudwatch.ComparisonOperator;
const { NOT_BREACHING, BREACHING, IGNORE } = cloudwatch.TreatMissingData;

export function alarmOf(scope: Construct, rule: AlarmRule): cloudwatch.Alarm {
  const { id, says, metric, threshold, comparison = '>=', periods, beyond = periods, missing = 'fine' } = rule;
  return new cloudwatch.Alarm(scope, id, {
    alarmDescription: `${says} What to do: ${runbookOf(id)}`,
    metric,
    threshold,
    comparisonOperator: comparison === '<' ? LESS_THAN_THRESHOLD : GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    evaluationPeriods: periods,
    datapointsToAlarm: beyond,
    treatMissingData: { fine: NOT_BREACHING, beyond: BREACHING, ignore: IGNORE }[missing],
  });
}

/** `DeadLetters` → `docs/runbook.md#dead-letters`. */
function runbookOf(id: string): string {
  return `docs/runbook.md#${id.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}`;
}
