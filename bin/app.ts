import { fileURLToPath } from 'node:url';
import { App } from 'aws-cdk-lib';
import { contracts } from '#contracts';
import { JobQueueStack } from '../lib/index.ts';

/** The CDK app that cdk.json names: a queue with the sample jobs. No account or region, so it needs no look-ups. */
new JobQueueStack(new App(), 'Millrace', {
  description: 'Millrace: a job queue on Postgres',
  contracts,
  contractsEntry: fileURLToPath(import.meta.resolve('#contracts')),
  processorsEntry: fileURLToPath(import.meta.resolve('#processors')),
});
