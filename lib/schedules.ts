import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as targets from 'aws-cdk-lib/aws-scheduler-targets';
import type { Construct } from 'constructs';

/**
 * A tick that nobody could take within this time is dropped, and none is repeated: the next one is due in any case, and
 * old ones after an outage would come all at once. 60 s is the least that Scheduler and Lambda accept.
 */
const NO_SECOND_TRY = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

/** Calls a function once a minute with `event`. Ticks can still double, overlap or be missed. */
export function eachMinute(scope: Construct, id: string, fn: lambda.Function, event: object): scheduler.Schedule {
  // Scheduler retries what it could not hand over, Lambda what it was handed: both must be told.
  fn.configureAsyncInvoke(NO_SECOND_TRY);
  return new scheduler.Schedule(scope, id, {
    schedule: scheduler.ScheduleExpression.rate(Duration.minutes(1)),
    target: new targets.LambdaInvoke(fn, { ...NO_SECOND_TRY, input: scheduler.ScheduleTargetInput.fromObject(event) }),
  });
}
