import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { expect, test } from 'vitest';
import { JobDatabase, type JobQueueProps, type Pickup } from '../../lib/index.ts';
import { PUBLISHED_METRICS } from '../../lib/watch/metrics.ts';
import { SAMPLE, synthesize } from '../lib/synthesize.ts';
import { type CostLine, monthlyCost } from '../stack/monthly-cost.ts';
import { root } from './blocks.ts';
import { rowsBelow } from './tables.ts';

/** The examples of the page are synthesized by construct.test.ts. */
type Setting = (stack: Stack) => Partial<JobQueueProps>;

const secret = (stack: Stack) => secretsmanager.Secret.fromSecretNameV2(stack, 'Admin', 'neon');
const noVpc: Setting = (stack) => ({
  database: JobDatabase.fromSecret({ adminSecret: secret(stack), maxConnections: 200 }),
});
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
    { adminSecret: secret(stack) },
  ),
});

const NETWORKS: readonly [what: string, setting: Setting][] = [
  ['no VPC, a database elsewhere', noVpc],
  ['your VPC, your database', existing],
  ['new VPC, new database, `natInstance`', () => ({ egress: 'natInstance' })],
  ['new VPC, new database, `natGateway`', () => ({ egress: 'natGateway' })],
  ['new VPC, new database, `none`', () => ({ egress: 'none' })],
];
const PICKUPS: readonly Pickup[] = ['second', 'instant', 'minute'];

const page = await readFile(join(root, 'docs/networks.md'), 'utf8');
const costs = NETWORKS.map(([, setting]) => PICKUPS.map((pickup) => costOf(setting, pickup)));

test('docs/networks.md has what each network costs, and no other numbers', () => {
  const expected = NETWORKS.map(([what], n) => [what, ...(costs[n] ?? []).map((lines) => dollars(lines))]);
  expect(rowsBelow(page, '| network ')).toEqual(expected);
});

test('docs/networks.md has what each part of it costs', () => {
  const [, , natInstance = [], natGateway = [], none = []] = costs;
  const part = (lines: CostLine[] | undefined, what: RegExp) =>
    dollars(
      (lines ?? []).filter((line) => what.test(line.what)),
      1,
    );
  expect(rowsBelow(page, '| part ').map(([, usd]) => usd)).toEqual([
    part(natInstance[0], /^database/),
    part(natInstance[0], /^worker/),
    part(natInstance[1], /^worker/),
    part(natInstance[0], /^metrics|^alarms/),
    part(natInstance[0], /^secrets/),
    part(natInstance[0], /^NAT|IPv4/),
    part(natGateway[0], /^NAT|IPv4/),
    part(none[0], /endpoints/),
    part(none[1], /endpoints/),
  ]);
});

test('the README promises no less', async () => {
  const [noVpc = [], existing = [], newVpc = []] = costs;
  const rows = rowsBelow(await readFile(join(root, 'README.md'), 'utf8'), '| `pickup` ');
  expect(rows.map(([pickup]) => pickup)).toEqual(['`second`', '`instant`']);
  for (const [n, [, , ...ceilings]] of rows.entries()) {
    const promised = ceilings.map((cell) => Number(cell.replace('at most ', '')));
    for (const [at, lines] of [newVpc, existing, noVpc].entries()) {
      expect(Number(dollars(lines[n] ?? [], 2))).toBeLessThanOrEqual(promised[at] as number);
    }
  }
});

function costOf(setting: Setting, pickup: Pickup): CostLine[] {
  const { template } = synthesize((stack) => ({ ...SAMPLE, ...setting(stack), pickup }));
  return monthlyCost(template, { metrics: Object.keys(PUBLISHED_METRICS) });
}

function dollars(lines: readonly CostLine[], decimals = 0): string {
  return lines.reduce((sum, { usd }) => sum + usd, 0).toFixed(decimals);
}
