import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { JobQueue, type JobQueueProps } from './job-queue.ts';

export interface JobQueueStackProps extends StackProps, JobQueueProps {}

/** One queue in a stack of its own: what `bin/app.ts` deploys. */
export class JobQueueStack extends Stack {
  readonly queue: JobQueue;

  constructor(scope: Construct, id: string, props: JobQueueStackProps) {
    super(scope, id, props);
    this.queue = new JobQueue(this, 'Jobs', props);
    new CfnOutput(this, 'ApiUrl', { value: this.queue.apiUrl, description: 'Where jobs are enqueued and looked up' });
    new CfnOutput(this, 'TokensSecretArn', { value: this.queue.tokens.secretArn, description: 'What opens the API' });
  }
}
