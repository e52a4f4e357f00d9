import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { expect, test } from 'vitest';
import { synthesize } from '../lib/synthesize.ts';
import { COMBINATIONS, propsOf } from './combinations.ts';
import { findings } from './nag.ts';
import { expectSound } from './sound.ts';

test.each(COMBINATIONS)('%s: sound', (_, row) => {
  const { queue, template } = synthesize((stack) => propsOf(row, stack));
  expectSound(template);
  template.resourceCountIs('AWS::EC2::VPC', row.network === 'new' ? 1 : 0);
  template.resourceCountIs('AWS::RDS::DBInstance', row.database === 'new' || row.database === 'cluster' ? 1 : 0);
  template.resourceCountIs('AWS::ApiGatewayV2::Api', row.auth === 'no API' ? 0 : 1);
  template.resourceCountIs('Custom::Trigger', row.migrations === 'onDeploy' ? 1 : 0);
  template.resourceCountIs('AWS::Scheduler::Schedule', 1 + (row.workers === 'two' ? 5 : 1));
  if (row.network === 'existing') template.resourceCountIs('AWS::EC2::VPCEndpoint', 0);
  expect(queue.apiUrl === undefined).toBe(row.auth === 'no API');
});

/** What combinations.ts puts beside the queue is not the queue's. */
const BESIDE = / Millrace\/(Admin|Login|OwnCluster|Stripe)\//;

test.each(COMBINATIONS)('%s: cdk-nag finds nothing', (_, row) => {
  const ofTheQueue = findings((stack) => propsOf(row, stack)).filter((finding) => !BESIDE.test(finding));
  expect(ofTheQueue).toEqual([]);
});

test('cdk-nag would find something', () => {
  const found = findings((stack) => ({ secrets: { KEY: new Secret(stack, 'Stripe') as ISecret } }));
  expect(found).toEqual(['AwsSolutions-SMG4 Millrace/Stripe/Resource']);
});
