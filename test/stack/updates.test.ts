import { isDeepStrictEqual } from 'node:util';
import { Duration, type Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { expect, test } from 'vitest';
import { JobDatabase, type JobQueueProps } from '../../lib/index.ts';
import { type Properties, synthesize } from '../lib/synthesize.ts';

/**
 * Of what holds state or is what it stands on: the properties that CloudFormation can change only by making another resource,
 * and those whose change would be lost data.
 */
const LASTING: Readonly<Record<string, readonly string[]>> = {
  'AWS::RDS::DBInstance': [
    'AvailabilityZone',
    'DBInstanceIdentifier',
    'DBName',
    'DBSubnetGroupName',
    'Engine',
    'EngineVersion',
    'KmsKeyId',
    'MasterUsername',
    'StorageEncrypted',
  ],
  'AWS::RDS::DBSubnetGroup': ['DBSubnetGroupName', 'SubnetIds'],
  'AWS::SecretsManager::Secret': ['GenerateSecretString', 'Name', 'SecretString'],
  'AWS::EC2::VPC': ['CidrBlock', 'InstanceTenancy'],
  'AWS::EC2::Subnet': ['AvailabilityZone', 'CidrBlock', 'VpcId'],
  'AWS::ApiGatewayV2::Api': ['ProtocolType'],
  'AWS::SQS::Queue': ['FifoQueue', 'QueueName'],
};

type Lasting = Readonly<Record<string, unknown>>;

/** What must outlast an update, by logical id. */
function lastingOf(props: (stack: Stack) => Partial<JobQueueProps>): Lasting {
  const resources = Object.entries<Properties>(synthesize(props).template.toJSON().Resources);
  return Object.fromEntries(
    resources
      .filter(([id, { Type }]) => Type in LASTING && id.startsWith('Jobs'))
      .map(([id, { Type, Properties }]) => [id, LASTING[Type]?.map((name) => Properties[name])]),
  );
}

const before = lastingOf(() => ({}));

/** Secrets of the login and of the tokens, and the public subnets: they go with what they are for. */
const LOGIN = /^JobsDatabaseLogin/;
const TOKENS = /^JobsTokens/;
const API = /^Jobs(Tokens|Api)/;
const PUBLIC = /^JobsNetworkVpcPublicSubnet/;

test.each<[what: string, props: (stack: Stack) => Partial<JobQueueProps>, goes?: RegExp]>([
  ['pickup', () => ({ pickup: 'instant' })],
  ['databaseAuth', () => ({ databaseAuth: 'iam' }), LOGIN],
  ['auth', () => ({ auth: 'iam' }), TOKENS],
  ['api', () => ({ api: false }), API],
  ['egress, to a gateway', () => ({ egress: 'natGateway' })],
  ['egress, to none', () => ({ egress: 'none' }), PUBLIC],
  ['workers', () => ({ workers: { mail: { queues: ['mail'], max: 3 } } })],
  ['alarmTopic', (stack) => ({ alarmTopic: Topic.fromTopicArn(stack, 'T', 'arn:aws:sns:us-east-1:111122223333:t') })],
  ['secrets', (stack) => ({ secrets: { KEY: new Secret(stack, 'Key') as ISecret }, environment: { MODE: 'test' } })],
  ['retention', () => ({ retention: Duration.days(1), deadRetention: Duration.days(1) })],
  [
    'the instance',
    () => ({
      database: JobDatabase.newInstance({
        instanceType: ec2.InstanceType.of(ec2.InstanceClass.M8G, ec2.InstanceSize.LARGE),
        allocatedGibibytes: 50,
        multiAz: true,
      }),
    }),
  ],
])('a change of %s replaces and renames nothing that holds state', (_, props, goes) => {
  const after = lastingOf(props);
  const staying = Object.entries(before).filter(([id]) => !goes?.test(id));
  expect(after).toMatchObject(Object.fromEntries(staying));
  if (goes !== undefined) expect(Object.keys(after).filter((id) => goes.test(id))).toEqual([]);
});

test('another VPC would be seen: the database and its subnets cannot follow', () => {
  const elsewhere = lastingOf((stack) => ({ vpc: new ec2.Vpc(stack, 'Own') as ec2.IVpc }));
  const changed = Object.entries(before).filter(([id, lasting]) => !isDeepStrictEqual(elsewhere[id], lasting));
  expect(changed.map(([id]) => id)).toEqual([
    'JobsNetworkVpc6B6B4C2E',
    ...Array.from({ length: 6 }, () => expect.stringMatching(/^JobsNetworkVpc\w+Subnet[12]Subnet/)),
    'JobsDatabaseInstanceSubnetGroup2408DBE4',
  ]);
});
