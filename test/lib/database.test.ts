import { resolve } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Annotations, Match, type Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { describe, expect, test } from 'vitest';
import {
  type ExistingDatabaseProps,
  JobDatabase,
  JobQueue,
  type JobQueueProps,
  type NewInstanceProps,
} from '../../lib/index.ts';
import {
  functionOf,
  idOf,
  inApp,
  only,
  type Properties,
  propertiesOf,
  SAMPLE,
  type Synthesized,
  synthesize,
} from './synthesize.ts';

/** What the template tells a function of the database. */
function environmentOf(of: Synthesized, name: 'work' | 'migrate'): Properties {
  const { Variables } = propertiesOf(of.template, functionOf(of, name)).Environment;
  return Object.fromEntries(Object.entries(Variables).filter(([variable]) => /^(DATABASE|LOGIN)_/.test(variable)));
}

/** Which ports of which groups are open to the functions. */
function openTo(of: Synthesized): unknown[] {
  const [shared] = functionOf(of, 'work').connections.securityGroups;
  const SourceSecurityGroupId = { 'Fn::GetAtt': [shared && idOf(shared), 'GroupId'] };
  const rules = of.template.findResources('AWS::EC2::SecurityGroupIngress', { Properties: { SourceSecurityGroupId } });
  return Object.values(rules).map(({ Properties }) => [Properties.GroupId, Properties.FromPort, Properties.ToPort]);
}

const secret = (stack: Stack, name: string) =>
  secretsmanager.Secret.fromSecretCompleteArn(
    stack,
    name,
    `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${name}-AbCdEf`,
  );
const arnOf = (name: string) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${name}-AbCdEf`;
const group = (stack: Stack) => ec2.SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-0123456789abcdef0');
const ownVpc = (stack: Stack) => new ec2.Vpc(stack, 'Own', { maxAzs: 2, natGateways: 1 }) as ec2.IVpc;

describe('a new instance', () => {
  const usual = synthesize();
  const instanceIn = (template: Template) => Object.values(template.findResources('AWS::RDS::DBInstance'))[0] ?? {};
  const instance = instanceIn(usual.template);

  test('is small, encrypted, backed up, and not on the internet', () => {
    expect(instance.Properties).toMatchObject({
      Engine: 'postgres',
      EngineVersion: '18',
      DBInstanceClass: 'db.t4g.micro',
      AllocatedStorage: '20',
      MaxAllocatedStorage: 100,
      StorageType: 'gp3',
      StorageEncrypted: true,
      PubliclyAccessible: false,
      MultiAZ: false,
      BackupRetentionPeriod: 7,
      CopyTagsToSnapshot: true,
      AutoMinorVersionUpgrade: true,
    });
  });

  test('is not deleted by mistake, and leaves a snapshot otherwise', () => {
    expect(instance.Properties.DeletionProtection).toBe(true);
    expect(instance).toMatchObject({ DeletionPolicy: 'Snapshot', UpdateReplacePolicy: 'Snapshot' });
  });

  test('takes no connection without TLS', () => {
    const parameters =
      usual.template.findResources('AWS::RDS::DBParameterGroup')[instance.Properties.DBParameterGroupName.Ref];
    expect(parameters?.Properties).toMatchObject({ Family: 'postgres18', Parameters: { 'rds.force_ssl': '1' } });
  });

  test('lets in the functions, and nobody else', () => {
    const [own, ...others] = instance.Properties.VPCSecurityGroups;
    const port = { 'Fn::GetAtt': ['JobsDatabaseInstanceF5CE9CC7', 'Endpoint.Port'] };
    expect(others).toEqual([]);
    expect(openTo(usual)).toContainEqual([own, port, port]);
    const rules = usual.template.findResources('AWS::EC2::SecurityGroupIngress', { Properties: { GroupId: own } });
    expect(Object.keys(rules)).toHaveLength(1);
    expect(usual.template.toJSON().Resources[own['Fn::GetAtt'][0]].Properties).not.toHaveProperty(
      'SecurityGroupIngress',
    );
  });

  test('has a master password that RDS makes and keeps, so that it is nowhere here', () => {
    expect(instance.Properties).toMatchObject({ ManageMasterUserPassword: true, MasterUsername: 'millrace_admin' });
    expect(instance.Properties).not.toHaveProperty('MasterUserPassword');
  });

  test('tells the functions where it is, and each secret who they are', () => {
    const endpoint = {
      DATABASE_HOST: { 'Fn::GetAtt': ['JobsDatabaseInstanceF5CE9CC7', 'Endpoint.Address'] },
      DATABASE_PORT: { 'Fn::GetAtt': ['JobsDatabaseInstanceF5CE9CC7', 'Endpoint.Port'] },
      DATABASE_NAME: instance.Properties.DBName,
      DATABASE_CA_FILE: { 'Fn::Join': ['', ['rds-ca/', { Ref: 'AWS::Region' }, '.pem']] },
    };
    const login = { Ref: usual.queue.loginSecret && idOf(usual.queue.loginSecret) };
    expect(environmentOf(usual, 'work')).toEqual({ ...endpoint, DATABASE_SECRET_ARN: login });
    expect(environmentOf(usual, 'migrate')).toEqual({
      ...endpoint,
      DATABASE_SECRET_ARN: { 'Fn::GetAtt': ['JobsDatabaseInstanceF5CE9CC7', 'MasterUserSecret.SecretArn'] },
      LOGIN_SECRET_ARN: login,
    });
  });

  test('takes IAM tokens only where functions log in with them', () => {
    expect(instance.Properties.EnableIAMDatabaseAuthentication).toBe(false);
    const { template } = synthesize(() => ({ databaseAuth: 'iam' }));
    expect(instanceIn(template).Properties.EnableIAMDatabaseAuthentication).toBe(true);
  });

  test('is as its props say', () => {
    const { template } = synthesize(() => ({
      database: JobDatabase.newInstance({
        instanceType: ec2.InstanceType.of(ec2.InstanceClass.M8G, ec2.InstanceSize.LARGE),
        allocatedGibibytes: 50,
        maxAllocatedGibibytes: 500,
        multiAz: true,
      }),
    }));
    expect(instanceIn(template).Properties).toMatchObject({
      DBInstanceClass: 'db.m8g.large',
      AllocatedStorage: '50',
      MaxAllocatedStorage: 500,
      MultiAZ: true,
    });
  });

  test('goes into no VPC whose subnets are in one zone', () => {
    const props = (stack: Stack) => ({ vpc: new ec2.Vpc(stack, 'Own', { maxAzs: 1 }) as ec2.IVpc });
    expect(() => synthesize(props)).toThrow('must have subnets in two availability zones');
  });

  test.each([
    [80, 160],
    [40, 100],
    [59_578, 65_536],
  ])('of %i GiB may grow to %i', (allocatedGibibytes, MaxAllocatedStorage) => {
    const { template } = synthesize(() => ({ database: JobDatabase.newInstance({ allocatedGibibytes }) }));
    expect(instanceIn(template).Properties).toMatchObject({ MaxAllocatedStorage });
  });

  test.each<[NewInstanceProps, string]>([
    [{ allocatedGibibytes: 10 }, 'allocatedGibibytes must be a whole number from 20 to 59578, not 10'],
    [{ allocatedGibibytes: 60_000 }, 'allocatedGibibytes must be a whole number from 20 to 59578, not 60000'],
    [
      { allocatedGibibytes: 50, maxAllocatedGibibytes: 54 },
      'maxAllocatedGibibytes, a tenth above allocatedGibibytes at least, must be a whole number from 55 to 65536, not 54',
    ],
    [{ ca: 'no-such.pem' }, `there is no ${resolve('no-such.pem')}`],
    [{ ca: 'package.json' }, 'ca must be a PEM file with certificates'],
  ])('%o, which would fail the deploy, is refused at synth', (props, sentence) => {
    expect(() => synthesize(() => ({ database: JobDatabase.newInstance(props) }))).toThrow(sentence);
  });
});

describe('an instance that is there already', () => {
  const imported = (stack: Stack) =>
    rds.DatabaseInstance.fromDatabaseInstanceAttributes(stack, 'Instance', {
      instanceIdentifier: 'main',
      instanceEndpointAddress: 'main.example.com',
      port: 5433,
      instanceResourceId: 'db-ABCDEFGHIJKL',
      securityGroups: [group(stack)],
    });
  const with_ = (props: (stack: Stack) => ExistingDatabaseProps, own: Partial<JobQueueProps> = {}) =>
    synthesize((stack) => ({
      vpc: ownVpc(stack),
      database: JobDatabase.fromInstance(imported(stack), props(stack)),
      ...own,
    }));

  test('imported, is used under the logins that are given, and nothing of RDS is made', () => {
    const of = with_((stack) => ({ adminSecret: secret(stack, 'admin'), databaseName: 'app' }));
    expect(environmentOf(of, 'work')).toMatchObject({
      DATABASE_HOST: 'main.example.com',
      DATABASE_PORT: '5433',
      DATABASE_NAME: 'app',
      DATABASE_CA_FILE: expect.anything(),
    });
    expect(environmentOf(of, 'migrate').DATABASE_SECRET_ARN).toBe(arnOf('admin'));
    expect(openTo(of)).toEqual([['sg-0123456789abcdef0', 5433, 5433]]);
    expect(JSON.stringify(of.template.toJSON())).not.toContain('AWS::RDS::');
  });

  test('imported without its security groups, warns that nothing lets the functions in', () => {
    const warnings = (securityGroups: (stack: Stack) => ec2.ISecurityGroup[]) =>
      inApp({}, (app) => {
        const stack = new Stack(app, 'Millrace');
        const instance = rds.DatabaseInstance.fromDatabaseInstanceAttributes(stack, 'Instance', {
          instanceIdentifier: 'main',
          instanceEndpointAddress: 'main.example.com',
          port: 5432,
          securityGroups: securityGroups(stack),
        });
        const database = JobDatabase.fromInstance(instance, { adminSecret: secret(stack, 'admin') });
        new JobQueue(stack, 'Jobs', { ...SAMPLE, vpc: ownVpc(stack), database });
        return Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp('without its security groups'));
      });
    expect(warnings(() => [])).toHaveLength(1);
    expect(warnings((stack) => [group(stack)])).toEqual([]);
  });

  test('imported, needs no login that migrates where no deploy migrates', () => {
    const of = with_(() => ({}), { migrations: 'external', databaseAuth: 'iam' });
    expect(environmentOf(of, 'work')).toMatchObject({
      DATABASE_USER: 'millrace_worker_iam',
      DATABASE_HOST: 'main.example.com',
    });
    expect(JSON.stringify(of.template.toJSON())).not.toContain('DATABASE_SECRET_ARN');
  });

  test('of the app brings the secret that it was made with', () => {
    const of = synthesize((stack) => {
      const vpc = ownVpc(stack);
      const instance: unknown = new rds.DatabaseInstance(stack, 'Main', {
        engine: rds.DatabaseInstanceEngine.postgres({ version: rds.PostgresEngineVersion.VER_16 }),
        vpc,
      });
      return { vpc, database: JobDatabase.fromInstance(instance as rds.IDatabaseInstance) };
    });
    const [attachment] = Object.keys(of.template.findResources('AWS::SecretsManager::SecretTargetAttachment'));
    expect(environmentOf(of, 'migrate')).toMatchObject({
      DATABASE_SECRET_ARN: { Ref: attachment },
      DATABASE_NAME: 'postgres',
    });
    of.template.resourceCountIs('AWS::RDS::DBInstance', 1);
  });

  test('must be Postgres', () => {
    const mysql = (stack: Stack) => {
      const vpc = ownVpc(stack);
      const instance: unknown = new rds.DatabaseInstance(stack, 'Main', {
        engine: rds.DatabaseInstanceEngine.mysql({ version: rds.MysqlEngineVersion.VER_8_0 }),
        vpc,
      });
      return { vpc, database: JobDatabase.fromInstance(instance as rds.IDatabaseInstance) };
    };
    expect(() => synthesize(mysql)).toThrow('The database must be Postgres, and this one is mysql.');
  });
});

describe('an Aurora cluster', () => {
  const cluster = (stack: Stack, vpc: ec2.IVpc, writer: rds.IClusterInstance) =>
    new rds.DatabaseCluster(stack, 'Cluster', {
      engine: rds.DatabaseClusterEngine.auroraPostgres({ version: rds.AuroraPostgresEngineVersion.VER_16_4 }),
      writer,
      vpc,
    }) as unknown as rds.IDatabaseCluster;

  test('of the app is used at its writer', () => {
    const of = synthesize((stack) => {
      const vpc = ownVpc(stack);
      const instanceType = ec2.InstanceType.of(ec2.InstanceClass.R8G, ec2.InstanceSize.LARGE);
      const writer = rds.ClusterInstance.provisioned('writer', { instanceType });
      return { vpc, database: JobDatabase.fromCluster(cluster(stack, vpc, writer)) };
    });
    const [id] = Object.keys(of.template.findResources('AWS::RDS::DBCluster'));
    const { VpcSecurityGroupIds } = only(of.template, 'AWS::RDS::DBCluster');
    expect(environmentOf(of, 'work')).toMatchObject({
      DATABASE_HOST: { 'Fn::GetAtt': [id, 'Endpoint.Address'] },
      DATABASE_PORT: { 'Fn::GetAtt': [id, 'Endpoint.Port'] },
    });
    const port = { 'Fn::GetAtt': [id, 'Endpoint.Port'] };
    expect(openTo(of)).toEqual([[VpcSecurityGroupIds[0], port, port]]);
    expect(of.queue.connectionEstimate).toMatch(/the database takes about 1712\.$/);
  });

  test('that is serverless takes connections that nobody can count', () => {
    const { queue } = synthesize((stack) => {
      const vpc = ownVpc(stack);
      const writer = rds.ClusterInstance.serverlessV2('writer');
      return { vpc, database: JobDatabase.fromCluster(cluster(stack, vpc, writer)) };
    });
    expect(queue.connectionEstimate).toMatch(/the database takes an unknown number\.$/);
  });

  test('imported, takes IAM tokens of exactly the users of the functions', () => {
    const of = synthesize((stack) => ({
      vpc: ownVpc(stack),
      databaseAuth: 'iam',
      database: JobDatabase.fromCluster(
        rds.DatabaseCluster.fromDatabaseClusterAttributes(stack, 'Cluster', {
          clusterIdentifier: 'main',
          clusterResourceIdentifier: 'cluster-ABCDEFGHIJKL',
          clusterEndpointAddress: 'main.example.com',
          port: 5432,
          securityGroups: [group(stack)],
        }),
        { adminSecret: secret(stack, 'admin') },
      ),
    }));
    const connects = Object.values(of.template.findResources('AWS::IAM::Policy'))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => Action === 'rds-db:connect')
      .map(({ Resource }) => JSON.stringify(Resource));
    expect(connects).toHaveLength(7);
    for (const resource of connects) {
      expect(resource).toMatch(/:dbuser:cluster-ABCDEFGHIJKL\/millrace_(producer|reader|operator|worker|reaper)_iam"/);
    }
  });
});

describe('a database by secret', () => {
  test('is where the secret of its administrator says, as the deploy reads it', () => {
    const of = synthesize((stack) => ({ database: JobDatabase.fromSecret({ adminSecret: secret(stack, 'admin') }) }));
    const said = (key: string) => `{{resolve:secretsmanager:${arnOf('admin')}:SecretString:${key}::}}`;
    const endpoint = { DATABASE_HOST: said('host'), DATABASE_PORT: said('port'), DATABASE_NAME: said('dbname') };
    const login = { Ref: of.queue.loginSecret && idOf(of.queue.loginSecret) };
    expect(environmentOf(of, 'work')).toEqual({ ...endpoint, DATABASE_SECRET_ARN: login });
    expect(environmentOf(of, 'migrate')).toEqual({
      ...endpoint,
      DATABASE_SECRET_ARN: arnOf('admin'),
      LOGIN_SECRET_ARN: login,
    });
    // Nothing else of it may get into the template.
    expect(JSON.stringify(of.template.toJSON())).not.toMatch(/SecretString:(?!host|port|dbname)/);
  });

  test('is where the props say', () => {
    const of = synthesize((stack) => ({
      database: JobDatabase.fromSecret({
        adminSecret: secret(stack, 'admin'),
        host: 'db.example.com',
        port: 6432,
        databaseName: 'app',
        ca: 'rds',
      }),
    }));
    expect(environmentOf(of, 'work')).toMatchObject({
      DATABASE_HOST: 'db.example.com',
      DATABASE_PORT: '6432',
      DATABASE_NAME: 'app',
      DATABASE_CA_FILE: { 'Fn::Join': ['', ['rds-ca/', { Ref: 'AWS::Region' }, '.pem']] },
    });
    expect(JSON.stringify(of.template.toJSON())).not.toContain('{{resolve:');
  });

  test('is where the given login says, which no function but these reads', () => {
    const of = synthesize((stack) => ({
      migrations: 'external',
      database: JobDatabase.fromSecret({ login: secret(stack, 'login') }),
    }));
    expect(environmentOf(of, 'work')).toEqual({ DATABASE_SECRET_ARN: arnOf('login') });
    expect(of.queue.functions).not.toHaveProperty('migrate');
    expect(of.queue.functions).not.toHaveProperty('rotate');
  });

  test('lets the functions in by its security group', () => {
    const of = synthesize((stack) => ({
      vpc: ownVpc(stack),
      database: JobDatabase.fromSecret({
        adminSecret: secret(stack, 'admin'),
        port: 6432,
        securityGroup: group(stack),
      }),
    }));
    expect(openTo(of)).toEqual([['sg-0123456789abcdef0', 6432, 6432]]);
  });

  test('can have a security group only in a VPC', () => {
    const props = (stack: Stack) => ({
      database: JobDatabase.fromSecret({ adminSecret: secret(stack, 'admin'), securityGroup: group(stack) }),
    });
    expect(() => synthesize(props)).toThrow('give the queue that vpc as well');
  });
});

test.each<[string, (stack: Stack) => Partial<JobQueueProps>, string]>([
  [
    'IAM tokens for a database by secret',
    (stack) => ({ databaseAuth: 'iam', database: JobDatabase.fromSecret({ adminSecret: secret(stack, 'admin') }) }),
    "databaseAuth 'iam' needs an RDS instance or an Aurora cluster",
  ],
  [
    'a login beside IAM tokens',
    (stack) => ({ databaseAuth: 'iam', database: JobDatabase.newInstance({ login: secret(stack, 'login') }) }),
    "is for databaseAuth 'secret'",
  ],
  [
    'no login that migrates',
    () => ({ database: JobDatabase.fromSecret({}) }),
    'The adminSecret of the database is missing',
  ],
  ['no login where no deploy makes one', () => ({ migrations: 'external' }), 'The login of the database is missing'],
])('%s is refused at synth', (_, props, sentence) => {
  expect(() => synthesize(props)).toThrow(sentence);
});
