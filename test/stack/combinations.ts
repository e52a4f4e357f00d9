import { Duration, Size, type Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sns from 'aws-cdk-lib/aws-sns';
import { type Auth, type Egress, JobDatabase, type JobQueueProps, type Pickup } from '../../lib/index.ts';
import { CA_FILE } from '../lib/synthesize.ts';
import { type Combination, pairwise } from './pairwise.ts';

const FACTORS = {
  network: ['new', 'existing', 'none'],
  egress: ['natInstance', 'natGateway', 'none', 'of the network'],
  database: ['new', 'instance', 'cluster', 'secret'],
  databaseAuth: ['secret', 'iam'],
  pickup: ['second', 'instant', 'minute'],
  migrations: ['onDeploy', 'external'],
  auth: ['token', 'iam', 'jwt', 'no API'],
  workers: ['one', 'two'],
  extras: ['without', 'with'],
} as const;
export type Row = Combination<typeof FACTORS>;

/** Whether the props make sense together; what does not is refused at synth, and tested beside the construct. */
function possible({ network, egress, database, databaseAuth, migrations }: Row): boolean {
  return (
    (network === 'new') === (egress !== 'of the network') &&
    (network === 'existing' || database === 'new' || database === 'secret') &&
    (network !== 'none' || database === 'secret') &&
    (network !== 'new' || database === 'new') &&
    (database !== 'secret' || databaseAuth === 'secret') &&
    // Nobody has made the logins of a database that is not there yet.
    (migrations !== 'external' || database !== 'new')
  );
}

/** The props of a combination. */
export function propsOf(row: Row, stack: Stack): Partial<JobQueueProps> {
  const vpc = row.network === 'existing' ? existingVpc(stack) : undefined;
  return {
    ...(vpc && { vpc }),
    ...(row.network === 'new' && { egress: row.egress as Egress }),
    ...(row.database !== 'new' && { database: databaseOf(row, stack, vpc) }),
    databaseAuth: row.databaseAuth,
    pickup: row.pickup as Pickup,
    migrations: row.migrations,
    ...(row.auth === 'no API' ? { api: false } : { auth: authOf(row.auth) }),
    ...(row.workers === 'two' && {
      workers: {
        default: { concurrency: 20, max: 2 },
        mail: { queues: ['mail'], memory: Size.mebibytes(512), timeout: Duration.minutes(5), max: 3 },
      },
    }),
    ...(row.extras === 'with' && {
      alarmTopic: sns.Topic.fromTopicArn(stack, 'Topic', `arn:aws:sns:${stack.region}:${stack.account}:alarms`),
      environment: { SHOP: 'Lovelace' },
      secrets: { STRIPE_KEY: new secretsmanager.Secret(stack, 'Stripe') as secretsmanager.ISecret },
      retention: Duration.days(1),
    }),
  };
}

function existingVpc(stack: Stack): ec2.IVpc {
  return ec2.Vpc.fromVpcAttributes(stack, 'Own', {
    vpcId: 'vpc-0123456789abcdef0',
    availabilityZones: ['us-east-1a', 'us-east-1b'],
    privateSubnetIds: ['subnet-0123456789abcdef1', 'subnet-0123456789abcdef2'],
    privateSubnetRouteTableIds: ['rtb-0123456789abcdef1', 'rtb-0123456789abcdef2'],
    isolatedSubnetIds: ['subnet-0123456789abcdef3', 'subnet-0123456789abcdef4'],
    isolatedSubnetRouteTableIds: ['rtb-0123456789abcdef3', 'rtb-0123456789abcdef4'],
  });
}

function databaseOf({ database, migrations, databaseAuth }: Row, stack: Stack, vpc: ec2.IVpc | undefined): JobDatabase {
  const secret = (id: string) => new secretsmanager.Secret(stack, id) as secretsmanager.ISecret;
  const external = migrations === 'external';
  const secrets = {
    ...(!external && { adminSecret: secret('Admin') }),
    ...(external && databaseAuth === 'secret' && { login: secret('Login') }),
  };
  switch (database) {
    case 'instance':
      return JobDatabase.fromInstance(
        rds.DatabaseInstance.fromDatabaseInstanceAttributes(stack, 'OwnInstance', {
          instanceIdentifier: 'shop',
          instanceEndpointAddress: 'shop.abc.us-east-1.rds.amazonaws.com',
          instanceResourceId: 'db-ABC',
          port: 5432,
          securityGroups: [ec2.SecurityGroup.fromSecurityGroupId(stack, 'OwnInstanceGroup', 'sg-0123456789abcdef0')],
        }),
        secrets,
      );
    case 'cluster':
      return JobDatabase.fromCluster(
        new rds.DatabaseCluster(stack, 'OwnCluster', {
          engine: rds.DatabaseClusterEngine.auroraPostgres({ version: rds.AuroraPostgresEngineVersion.VER_17_4 }),
          writer: rds.ClusterInstance.serverlessV2('writer'),
          ...(vpc && { vpc, vpcSubnets: { subnetType: ec2.SubnetType.PRIVATE_ISOLATED } }),
          iamAuthentication: true,
        }) as unknown as rds.IDatabaseCluster,
        secrets,
      );
    default:
      return JobDatabase.fromSecret({ ...secrets, ca: CA_FILE });
  }
}

function authOf(auth: Exclude<Row['auth'], 'no API'>): Auth {
  return auth === 'jwt' ? { issuer: 'https://id.example.com', audience: ['jobs'] } : auth;
}

/** Each two values of props together at least once, by a name. */
export const COMBINATIONS = pairwise(FACTORS, possible).map((row): [name: string, row: Row] => [
  Object.values(row).join(', '),
  row,
]);
