import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { JobQueue } from 'millrace';

const app = new App();
const stack = new Stack(app, 'Jobs');

// With no more than this it makes a VPC and a database of its own; node_modules/millrace/docs/construct.md has the rest.
const queue = new JobQueue(stack, 'Queue', {
  contracts: 'jobs/contracts.ts',
  processors: 'jobs/processors.ts',
});

new CfnOutput(stack, 'ApiUrl', { value: queue.apiUrl ?? '' });
new CfnOutput(stack, 'TokensSecretArn', { value: queue.tokens?.secretArn ?? '' });
