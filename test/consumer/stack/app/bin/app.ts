import * as cdk from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sns from 'aws-cdk-lib/aws-sns';
import { JobQueue } from 'millrace';

const app = new cdk.App();
const stack = new cdk.Stack(app, 'Shop');

const jobs = new JobQueue(stack, 'Jobs', {
  contracts: 'jobs/contracts.ts',
  processors: 'jobs/processors.ts',
  environment: { PARTNER: 'acme' },
  secrets: { PARTNER_KEY: secretsmanager.Secret.fromSecretNameV2(stack, 'PartnerKey', 'shop/partner-key') },
  bundling: { nodeModules: ['@node-rs/xxhash'] },
  alarmTopic: new sns.Topic(stack, 'Alarms', { enforceSSL: true }),
  // That of this machine, so that what is deployed can be tried here as well.
  advanced: { architecture: process.arch === 'x64' ? lambda.Architecture.X86_64 : lambda.Architecture.ARM_64 },
});

new cdk.CfnOutput(stack, 'Api', { value: jobs.apiUrl ?? 'none' });
