import type { Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { describe, expect, test } from 'vitest';
import { JobDatabase, type JobQueueProps, type Pickup } from '../../lib/index.ts';
import { PUBLISHED_METRICS } from '../../lib/watch/metrics.ts';
import { CA_FILE, synthesize } from '../lib/synthesize.ts';
import { monthlyCost } from './monthly-cost.ts';
import prices from './prices.json' with { type: 'json' };

type Setting = (stack: Stack) => Partial<JobQueueProps>;

const newEverything: Setting = () => ({});

/** What an app may have already: none of it is Millrace's to pay for. */
const existing: Setting = (stack) => ({
  vpc: ec2.Vpc.fromVpcAttributes(stack, 'Own', {
    vpcId: 'vpc-0123456789abcdef0',
    availabilityZones: ['us-east-1a', 'us-east-1b'],
    privateSubnetIds: ['subnet-0123456789abcdef1', 'subnet-0123456789abcdef2'],
    privateSubnetRouteTableIds: ['rtb-0123456789abcdef1', 'rtb-0123456789abcdef2'],
  }),
  database: JobDatabase.fromInstance(
    rds.DatabaseInstance.fromDatabaseInstanceAttributes(stack, 'OwnInstance', {
      instanceIdentifier: 'shop',
      instanceEndpointAddress: 'shop.abc.us-east-1.rds.amazonaws.com',
      port: 5432,
      securityGroups: [ec2.SecurityGroup.fromSecurityGroupId(stack, 'OwnInstanceGroup', 'sg-0123456789abcdef0')],
    }),
    { adminSecret: secretsmanager.Secret.fromSecretNameV2(stack, 'Admin', 'shop') },
  ),
});

const noVpc: Setting = (stack) => ({
  database: JobDatabase.fromSecret({
    adminSecret: secretsmanager.Secret.fromSecretNameV2(stack, 'Admin', 'neon'),
    ca: CA_FILE,
  }),
});

/** What the README promises at most, in dollars a month. */
const CEILINGS: readonly [what: string, pickup: Pickup, usd: number, setting: Setting][] = [
  ['new everything', 'second', 36, newEverything],
  ['new everything', 'instant', 28, newEverything],
  ['an existing VPC and database', 'second', 15, existing],
  ['an existing VPC and database', 'instant', 6, existing],
  ['no VPC', 'second', 15, noVpc],
  ['no VPC', 'instant', 6, noVpc],
];

test.each(CEILINGS)('%s, pickup %s: at most %i dollars a month', (_, pickup, ceiling, setting) => {
  const { template } = synthesize((stack) => ({ ...setting(stack), pickup }));
  const lines = monthlyCost(template, { metrics: Object.keys(PUBLISHED_METRICS) });
  const total = lines.reduce((sum, { usd }) => sum + usd, 0);
  expect(total, lines.map(({ what, usd }) => `${what}: ${usd.toFixed(2)}`).join('\n')).toBeLessThanOrEqual(ceiling);
});

describe('the price table', () => {
  const all = [prices.perHour, prices.perMonth, prices.perUse].flatMap((group) => Object.entries(group));
  test.each(all)('%s has a price and its source', (_, { usd, source }) => {
    expect(usd).toBeGreaterThan(0);
    expect(source).toMatch(/\w/);
  });
});
