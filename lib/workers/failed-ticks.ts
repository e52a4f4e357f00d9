import { Duration } from 'aws-cdk-lib';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { acknowledge } from '../acknowledge.ts';

/**
 * Where Lambda puts what it was asked to run and could not: ticks and wakes whose run failed or never began, each with its
 * error. Nothing reads them but people, for two weeks: the next tick does the work.
 */
export function failedTicks(scope: Construct, id: string): sqs.Queue {
  const queue = new sqs.Queue(scope, id, {
    encryption: sqs.QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  const reason = 'It is where failures end: nothing consumes it, so that no message of it can fail.';
  acknowledge(queue, { 'AwsSolutions-SQS3': reason, 'Serverless-SQSRedrivePolicy': reason });
  return queue;
}
