import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

export interface DatabaseProps {
  readonly vpc: ec2.IVpc;
  readonly subnets: ec2.SubnetSelection;
  /** Security group that may connect. */
  readonly clients: ec2.ISecurityGroup;
}

/**
 * The Postgres that holds every job: the smallest instance, encrypted, unreachable from outside its VPC. It is protected
 * from deletion, and leaves a snapshot when it is deleted all the same.
 */
export class Database extends Construct {
  readonly instance: rds.DatabaseInstance;
  /** JSON: host, port, username, password, dbname. */
  readonly secret: secretsmanager.ISecret;

  constructor(scope: Construct, id: string, { vpc, subnets, clients }: DatabaseProps) {
    super(scope, id);
    this.instance = new rds.DatabaseInstance(this, 'Instance', {
      engine: rds.DatabaseInstanceEngine.postgres({ version: rds.PostgresEngineVersion.VER_18 }),
      instanceType: ec2.InstanceType.of(ec2.InstanceClass.T4G, ec2.InstanceSize.MICRO),
      vpc,
      vpcSubnets: subnets,
      databaseName: 'millrace',
      // Not "postgres": a name that everybody knows is half of a login.
      credentials: rds.Credentials.fromGeneratedSecret('millrace_admin'),
      allocatedStorage: 20,
      storageType: rds.StorageType.GP3,
      storageEncrypted: true,
      backupRetention: Duration.days(7),
      deletionProtection: true,
      removalPolicy: RemovalPolicy.SNAPSHOT,
    });
    this.instance.connections.allowDefaultPortFrom(clients, 'Functions of the job queue');
    this.secret = secretOf(this.instance);
  }
}

function secretOf(instance: rds.DatabaseInstance): secretsmanager.ISecret {
  if (!instance.secret) throw new Error('a database with generated credentials must have a secret, this one has none');
  return instance.secret;
}
