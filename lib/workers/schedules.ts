import { Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

/**
 * A tick that nobody could take within this time is dropped, and none is repeated: the next one is due in any case, and
 * old ones after an outage would come all at once. 60 s is the least that Scheduler and Lambda accept.
 */
const NO_SECOND_TRY = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

export interface SchedulesProps {
  /** Receives the ticks that a function could not be handed or failed at. */
  readonly failed: sqs.IQueue;
}

/** What starts functions once a minute. */
export class Schedules extends Construct {
  readonly #failed: sqs.IQueue;
  readonly #role: iam.Role;

  constructor(scope: Construct, id: string, { failed }: SchedulesProps) {
    super(scope, id);
    this.#failed = failed;
    const stack = Stack.of(this);
    const group = stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' });
    this.#role = new iam.Role(this, 'Role', {
      description: 'Starts the functions of the job queue each minute',
      // Only schedules of this account may use it: the service acts for others too.
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': stack.account, 'aws:SourceArn': group } },
      }),
    });
    failed.grantSendMessages(this.#role);
  }

  /**
   * Says what happens when the function is called without anybody waiting for it: by a schedule, or by a wake. Scheduler
   * retries what it could not hand over, Lambda what it was handed: both must be told not to.
   */
  target(fn: lambda.Function): void {
    fn.configureAsyncInvoke({ ...NO_SECOND_TRY, onFailure: new SqsDestination(this.#failed) });
    this.#role.addToPolicy(
      new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [fn.functionArn] }),
    );
  }

  /** Calls a target once a minute with `event`. Ticks can still double, overlap or be missed. */
  eachMinute(scope: Construct, id: string, fn: lambda.Function, event: object): scheduler.Schedule {
    const role: unknown = this.#role;
    return new scheduler.Schedule(scope, id, {
      schedule: scheduler.ScheduleExpression.rate(Duration.minutes(1)),
      target: {
        // Not CDK's own target: that lets its role call every version of the function as well.
        bind: () => ({
          arn: fn.functionArn,
          // Role is an IRole in all but exactOptionalPropertyTypes, which CDK's types do not know.
          role: role as iam.IRole,
          input: scheduler.ScheduleTargetInput.fromObject(event),
          retryPolicy: {
            maximumRetryAttempts: NO_SECOND_TRY.retryAttempts,
            maximumEventAgeInSeconds: NO_SECOND_TRY.maxEventAge.toSeconds(),
          },
          deadLetterConfig: { arn: this.#failed.queueArn },
        }),
      },
    });
  }
}
