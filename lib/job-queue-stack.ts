import { CfnMapping, CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { JobQueue } from './job-queue.ts';
import type { JobQueueProps } from './job-queue-props.ts';

export interface JobQueueStackProps extends StackProps, JobQueueProps {}

/** Where the console is, by partition. */
const CONSOLES = {
  aws: { Domain: 'console.aws.amazon.com' },
  'aws-cn': { Domain: 'console.amazonaws.cn' },
  'aws-us-gov': { Domain: 'console.amazonaws-us-gov.com' },
};

/** One queue in a stack of its own: what `bin/app.ts` deploys. Its outputs are what somebody needs who has deployed it. */
export class JobQueueStack extends Stack {
  readonly queue: JobQueue;

  constructor(scope: Construct, id: string, props: JobQueueStackProps) {
    super(scope, id, props);
    this.queue = new JobQueue(this, 'Jobs', props);
    const { apiUrl, tokens, databaseHost, adminSecret, loginSecret, connectionEstimate } = this.queue;
    this.#output('ApiUrl', apiUrl, 'Where jobs are enqueued and looked up');
    this.#output('TokensSecretArn', tokens?.secretArn, 'What opens the API: npx millrace token');
    this.#output('DatabaseHost', databaseHost, 'The Postgres that holds the jobs');
    this.#output('AdminSecretArn', adminSecret?.secretArn, 'The login that migrates');
    this.#output('LoginSecretArn', loginSecret?.secretArn, 'The login of the functions');
    this.#output('ConnectionEstimate', connectionEstimate, 'Connections that the functions may open at once');
    this.#output('DashboardUrl', this.#dashboardUrl(), 'Is it alive, does it keep up, what fails, what does it cost');
  }

  #output(id: string, value: string | undefined, description: string): void {
    if (value !== undefined) new CfnOutput(this, id, { value, description });
  }

  #dashboardUrl(): string {
    const domain = new CfnMapping(this, 'Consoles', { mapping: CONSOLES }).findInMap(this.partition, 'Domain');
    const { dashboardName } = this.queue.dashboard;
    return `https://${domain}/cloudwatch/home?region=${this.region}#dashboards/dashboard/${dashboardName}`;
  }
}
