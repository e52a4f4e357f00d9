import { Duration, RemovalPolicy, Token } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import { Construct } from 'constructs';
import { acknowledge } from '../acknowledge.ts';
import type { Network } from '../network/network.ts';
import type { BoundDatabase, DatabaseContext } from './database.ts';
import { diskOf } from './disk.ts';
import { maxConnectionsOf } from './instance-memory.ts';
import type { NewInstanceProps } from './job-database-props.ts';

const NAME = 'millrace';

/** A new RDS instance, bound. */
export function newDatabase(
  scope: Construct,
  id: string,
  props: NewInstanceProps,
  context: DatabaseContext,
): BoundDatabase {
  const database = new Database(scope, id, { ...props, ...context });
  const { instance, instanceClass, allocatedGibibytes } = database;
  const maxConnections = props.maxConnections ?? maxConnectionsOf([instanceClass]);
  return {
    endpoint: { host: instance.dbInstanceEndpointAddress, port: instance.dbInstanceEndpointPort, name: NAME },
    adminSecret: context.migrations === 'onDeploy' ? instance.secret : undefined,
    login: props.login,
    certificates: { own: props.ca },
    grantConnect: (grantee, user) => instance.grantConnect(grantee, user),
    monitored: { kind: 'instance', instance, instanceClass, allocatedGibibytes, maxConnections },
    maxConnections,
    resources: [database],
  };
}

interface DatabaseProps extends NewInstanceProps, DatabaseContext {}

/**
 * The Postgres that holds every job: the smallest instance, encrypted, unreachable from outside its VPC. It is protected
 * from deletion, and leaves a snapshot when it is deleted all the same.
 */
export class Database extends Construct {
  readonly instance: rds.DatabaseInstance;
  /** Such as `db.t4g.micro`. */
  readonly instanceClass: string;
  readonly allocatedGibibytes: number;

  /** @throws Error that names what RDS would refuse in the middle of a deploy */
  constructor(scope: Construct, id: string, props: DatabaseProps) {
    super(scope, id);
    const { network, auth, multiAz = false } = props;
    const { allocatedGibibytes, maxAllocatedGibibytes } = diskOf(props);
    const { instanceType = ec2.InstanceType.of(ec2.InstanceClass.T4G, ec2.InstanceSize.MICRO) } = props;
    this.instanceClass = `db.${instanceType}`;
    this.allocatedGibibytes = allocatedGibibytes;
    this.instance = new rds.DatabaseInstance(this, 'Instance', {
      engine: rds.DatabaseInstanceEngine.postgres({ version: rds.PostgresEngineVersion.VER_18 }),
      instanceType,
      multiAz,
      ...placeIn(network),
      databaseName: NAME,
      // Not "postgres": a name that everybody knows is half of a login.
      credentials: rds.Credentials.fromUsername('millrace_admin'),
      // RDS makes the password, keeps it in a secret of its own and rotates it each week. Nothing but the migration reads it.
      manageMasterUserPassword: true,
      iamAuthentication: auth === 'iam',
      // From Postgres 15 on RDS has it so; said outright, since everything rests on it.
      parameters: { 'rds.force_ssl': '1' },
      allocatedStorage: allocatedGibibytes,
      maxAllocatedStorage: maxAllocatedGibibytes,
      storageType: rds.StorageType.GP3,
      storageEncrypted: true,
      publiclyAccessible: false,
      autoMinorVersionUpgrade: true,
      backupRetention: Duration.days(7),
      copyTagsToSnapshot: true,
      deletionProtection: true,
      removalPolicy: RemovalPolicy.SNAPSHOT,
    });
    network.allowFunctionsTo(this.instance);
    acknowledge(this.instance, REASONS);
  }
}

function placeIn({ databasePlace }: Network) {
  if (databasePlace === undefined) throw new Error('a new database must have a VPC');
  const { vpc, vpcSubnets } = databasePlace;
  const { availabilityZones } = vpc.selectSubnets(vpcSubnets);
  const zones = new Set(availabilityZones);
  if (zones.size < 2 && !Token.isUnresolved([...zones])) {
    throw new Error(
      `A new database must have subnets in two availability zones, and those of the given vpc are in ${[...zones].join() || 'none'}: RDS takes no fewer. Give others by advanced.databaseSubnets, or a vpc that has them.`,
    );
  }
  return databasePlace;
}

/** Why rules of cdk-nag do not hold for the instance. */
const REASONS = {
  'AwsSolutions-RDS3':
    'A standby doubles the price of the database. Jobs wait out a failure of the instance, and `multiAz` adds a standby where that is too long.',
  'AwsSolutions-RDS11':
    'Another port hides nothing: only the security group of the functions can open a connection, and each needs a login.',
};
