import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { JobDatabase, JobQueueStack, type Pickup } from '../lib/index.ts';

/** The CDK app that cdk.json names: a queue with the sample jobs. No account or region, so it needs no look-ups. */
const app = new App();
/** `cdk synth -c pickup=instant -c architecture=x86_64 -c databaseCa=compose/ca.pem`: to try out, and for `npm run sam`. */
const { pickup, architecture, databaseCa } = {
  pickup: app.node.tryGetContext('pickup') as Pickup | undefined,
  architecture: app.node.tryGetContext('architecture') as string | undefined,
  databaseCa: app.node.tryGetContext('databaseCa') as string | undefined,
};

new JobQueueStack(app, 'Millrace', {
  description: 'Millrace: a job queue on Postgres',
  contracts: 'functions/jobs/contracts.ts',
  processors: 'functions/jobs/processors.ts',
  projectRoot: join(import.meta.dirname, '..'),
  ...(pickup && { pickup }),
  ...(databaseCa && { database: JobDatabase.newInstance({ ca: databaseCa }) }),
  ...(architecture && { advanced: { architecture: lambda.Architecture.custom(architecture) } }),
});
