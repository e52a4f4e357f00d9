import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import { expect, test } from 'vitest';
import { JobDatabase, JobQueue, type JobQueueFunctions } from '../../lib/index.ts';
import { functionOf, idOf, inApp, only, type Properties, SAMPLE, synthesize } from './synthesize.ts';

const usual = synthesize();
const { queue, template } = usual;
const resources: Record<string, Properties> = template.toJSON().Resources;
const ofType = (type: string) => Object.keys(resources).filter((id) => resources[id]?.Type === type);
const [migration = ''] = ofType('Custom::Trigger');
const migrate = functionOf(usual, 'migrate');
const others = (Object.keys(queue.functions) as (keyof JobQueueFunctions)[]).filter((name) => name !== 'migrate');

test('a deploy migrates with the new code, and waits for it as long as it may take', () => {
  const { HandlerArn, InvocationType, Timeout } = only(template, 'Custom::Trigger');
  expect(template.findResources('AWS::Lambda::Version')[HandlerArn.Ref]?.Properties.FunctionName).toEqual({
    Ref: idOf(migrate),
  });
  expect(InvocationType).toBe('RequestResponse');
  expect(Number(Timeout)).toBe((migrate.timeout?.toSeconds() ?? 0) * 1000);
});

/** What must be there for a connection and for a secret to be read. */
const WAY = [
  ...['RDS::DBInstance', 'RDS::DBParameterGroup', 'EC2::SecurityGroupIngress', 'EC2::Instance', 'EC2::Route'],
  ...['EC2::SubnetRouteTableAssociation', 'EC2::VPCGatewayAttachment'],
].map((type) => `AWS::${type}`);

test.each(WAY)('the database and the way to it are there before: %s', (type) => {
  expect(ofType(type).length).toBeGreaterThan(0);
  expect(resources[migration]?.DependsOn).toEqual(expect.arrayContaining(ofType(type)));
});

test('a cluster of the app has a writer before, and lets the functions in', () => {
  const { template: clustered } = synthesize((stack) => {
    const vpc = new ec2.Vpc(stack, 'Own', { maxAzs: 2, natGateways: 1 }) as ec2.IVpc;
    const group = new ec2.SecurityGroup(stack, 'Group', { vpc }) as ec2.ISecurityGroup;
    const cluster: unknown = new rds.DatabaseCluster(stack, 'Cluster', {
      engine: rds.DatabaseClusterEngine.auroraPostgres({ version: rds.AuroraPostgresEngineVersion.VER_16_4 }),
      writer: rds.ClusterInstance.serverlessV2('writer'),
      vpc,
      securityGroups: [group],
    });
    return { vpc, database: JobDatabase.fromCluster(cluster as rds.IDatabaseCluster) };
  });
  const needed = ['AWS::RDS::DBInstance', 'AWS::EC2::SecurityGroupIngress'].flatMap((type) =>
    Object.keys(clustered.findResources(type)),
  );
  expect(needed).toHaveLength(2);
  const [trigger] = Object.values(clustered.findResources('Custom::Trigger'));
  expect(trigger?.DependsOn).toEqual(expect.arrayContaining(needed));
});

test('so are the endpoints, where there is no other way', () => {
  const closed = synthesize(() => ({ egress: 'none' })).template;
  const [trigger] = Object.values(closed.findResources('Custom::Trigger'));
  expect(trigger?.DependsOn).toEqual(
    expect.arrayContaining(Object.keys(closed.findResources('AWS::EC2::VPCEndpoint'))),
  );
});

test.each(others)('%s takes its new code only afterwards', (name) => {
  expect(resources[idOf(functionOf(usual, name))]?.DependsOn).toContain(migration);
});

test('with migrations of your own no deploy migrates', () => {
  const { template: external } = synthesize(() => ({ migrations: 'external', databaseAuth: 'iam' }));
  external.resourceCountIs('Custom::Trigger', 0);
});

test('two queues in one stack migrate each on its own', () => {
  inApp({}, (app) => {
    const stack = new Stack(app, 'Millrace');
    for (const id of ['Jobs', 'Others']) new JobQueue(stack, id, SAMPLE);
    Template.fromStack(stack).resourceCountIs('Custom::Trigger', 2);
  });
});

/** What CDK adds for its custom resources. */
const providers = Object.entries(resources).filter(
  ([id, { Type }]) => Type === 'AWS::Lambda::Function' && id.includes('CustomResourceProvider'),
);

test('the functions of CDK are two', () => {
  expect(providers.map(([id]) => id).sort()).toEqual([
    expect.stringMatching(/^AWSCDKTrigger/),
    expect.stringMatching(/^CustomVpcRestrictDefaultSG/),
  ]);
});

test.each(providers)('%s of CDK keeps its log for a month, and writes to no other', (_, { Properties }) => {
  const log = Properties.LoggingConfig.LogGroup.Ref;
  expect(resources[log]).toMatchObject({ Properties: { RetentionInDays: 30 }, DeletionPolicy: 'Delete' });
  const role = resources[Properties.Role['Fn::GetAtt'][0]]?.Properties;
  expect(role.ManagedPolicyArns).toEqual([]);
  const [{ PolicyDocument }] = role.Policies;
  expect(PolicyDocument.Statement).toContainEqual({
    Sid: 'WriteOwnLog',
    Effect: 'Allow',
    Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    Resource: { 'Fn::GetAtt': [log, 'Arn'] },
  });
});
