import { Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { describe, expect, test } from 'vitest';
import {
  type AdvancedProps,
  JobDatabase,
  JobQueue,
  type JobQueueFunctions,
  type JobQueueProps,
} from '../../lib/index.ts';
import { functionOf, idOf, inApp, only, propertiesOf, SAMPLE, type Synthesized, synthesize } from './synthesize.ts';

const usual = synthesize();
const withDatabase = [
  'enqueue',
  'jobsRead',
  'manage',
  'ready',
  'metrics',
  'work',
  'reap',
  'migrate',
  'rotate',
] as const satisfies (keyof JobQueueFunctions)[];

const resourcesOf = ({ template }: Synthesized) => template.toJSON().Resources;

/** Logical ids of the subnets of that name. */
function subnets({ template }: Synthesized, name: string): string[] {
  const Tags = Match.arrayWith([{ Key: 'aws-cdk:subnet-name', Value: name }]);
  return Object.keys(template.findResources('AWS::EC2::Subnet', { Properties: { Tags } }));
}

/** Where traffic to the internet goes from each subnet of that name: the properties that name a router. */
function waysOut(of: Synthesized, name: string): object[] {
  const tables = Object.values(of.template.findResources('AWS::EC2::SubnetRouteTableAssociation'))
    .filter(({ Properties }) => subnets(of, name).includes(Properties.SubnetId.Ref))
    .map(({ Properties }) => Properties.RouteTableId.Ref);
  return Object.values(of.template.findResources('AWS::EC2::Route'))
    .filter(({ Properties }) => tables.includes(Properties.RouteTableId.Ref))
    .map(({ Properties: { RouteTableId, DestinationCidrBlock, ...router } }) => router);
}

/** Who may reach a security group, on which ports. */
function ingressOf({ template }: Synthesized, group: object): object[] {
  const rules = template.findResources('AWS::EC2::SecurityGroupIngress', { Properties: { GroupId: group } });
  return Object.values(rules).map(({ Properties: { GroupId, Description, ...rule } }) => rule);
}

/** The security group that all functions share. */
function sharedGroup(of: Synthesized): object {
  const [shared] = functionOf(of, 'work').connections.securityGroups;
  return { 'Fn::GetAtt': [shared && idOf(shared), 'GroupId'] };
}

const vpcOf =
  (...subnetTypes: ec2.SubnetType[]) =>
  (stack: Stack) =>
    new ec2.Vpc(stack, 'Own', {
      maxAzs: 2,
      natGateways: subnetTypes.includes(ec2.SubnetType.PRIVATE_WITH_EGRESS) ? 1 : 0,
      subnetConfiguration: subnetTypes.map((subnetType) => ({ name: subnetType, subnetType })),
    }) as ec2.IVpc;
const fullVpc = vpcOf(ec2.SubnetType.PUBLIC, ec2.SubnetType.PRIVATE_WITH_EGRESS, ec2.SubnetType.PRIVATE_ISOLATED);

const bySecret = (stack: Stack) =>
  JobDatabase.fromSecret({ adminSecret: secretsmanager.Secret.fromSecretNameV2(stack, 'Admin', 'admin') });

describe('a new VPC', () => {
  const by = {
    natInstance: usual,
    natGateway: synthesize(() => ({ egress: 'natGateway' })),
    none: synthesize(() => ({ egress: 'none', pickup: 'instant' })),
  };

  test.each(Object.entries(by))(
    'with %s has the same private addresses, so that another way out replaces nothing',
    (egress, of) => {
      const ranges = Object.values(of.template.findResources('AWS::EC2::Subnet')).map(
        ({ Properties }) => Properties.CidrBlock,
      );
      const free = ['10.0.0.0/24', '10.0.1.0/24'];
      const taken = ['10.0.16.0/20', '10.0.32.0/20', '10.0.48.0/24', '10.0.49.0/24'];
      expect(ranges.sort()).toEqual(egress === 'none' ? taken : [...free, ...taken]);
    },
  );

  test.each(Object.entries(by))(
    'with %s leaves the default security group empty, and says who was turned away',
    (_, of) => {
      of.template.resourceCountIs('Custom::VpcRestrictDefaultSG', 1);
      expect(only(of.template, 'AWS::EC2::FlowLog')).toMatchObject({ ResourceType: 'VPC', TrafficType: 'REJECT' });
    },
  );

  test('is as closed in an app without our feature flags', () => {
    inApp({ context: {} }, (app) => {
      const stack = new Stack(app, 'Millrace');
      new JobQueue(stack, 'Jobs', SAMPLE);
      const bare = Template.fromStack(stack);
      bare.resourceCountIs('Custom::VpcRestrictDefaultSG', 1);
      for (const type of ['Instance', 'LaunchTemplate', 'SecurityGroup', 'SecurityGroupIngress', 'Route']) {
        expect(bare.findResources(`AWS::EC2::${type}`)).toEqual(usual.template.findResources(`AWS::EC2::${type}`));
      }
    });
  });

  test.each(Object.entries(by))('with %s the database has subnets of its own, and no way out', (_, of) => {
    const { SubnetIds } = only(of.template, 'AWS::RDS::DBSubnetGroup');
    expect(SubnetIds.map(({ Ref }: { Ref: string }) => Ref)).toEqual(subnets(of, 'Database'));
    expect(waysOut(of, 'Database')).toEqual([]);
  });

  describe('with a NAT instance', () => {
    const [[id = '', { Properties: instance, DependsOn }] = ['', {} as never]] = Object.entries(
      usual.template.findResources('AWS::EC2::Instance'),
    );
    const [card] = instance.NetworkInterfaces;
    const launch = only(usual.template, 'AWS::EC2::LaunchTemplate').LaunchTemplateData;

    test('has one, the smallest, and both zones use it', () => {
      usual.template.resourceCountIs('AWS::EC2::Instance', 1);
      usual.template.resourceCountIs('AWS::EC2::NatGateway', 0);
      expect(instance).toMatchObject({ InstanceType: 't4g.nano', SourceDestCheck: false });
      expect(waysOut(usual, 'Functions')).toEqual([{ InstanceId: { Ref: id } }, { InstanceId: { Ref: id } }]);
    });

    test('alone has a public address', () => {
      expect(card).toMatchObject({ AssociatePublicIpAddress: true, SubnetId: { Ref: subnets(usual, 'Public')[0] } });
      const open = usual.template.findResources('AWS::EC2::Subnet', { Properties: { MapPublicIpOnLaunch: true } });
      expect(Object.keys(open)).toEqual([]);
    });

    test('encrypts its disk, and gives its metadata to no request that is forwarded', () => {
      expect(instance.BlockDeviceMappings).toEqual([
        {
          DeviceName: '/dev/xvda',
          Ebs: { Encrypted: true, VolumeSize: 8, VolumeType: 'gp3', DeleteOnTermination: true },
        },
      ]);
      expect(launch.MetadataOptions).toMatchObject({ HttpTokens: 'required', HttpPutResponseHopLimit: 1 });
    });

    test('takes what the functions send, and nothing else; no key opens it', () => {
      const [group] = card.GroupSet;
      expect(ingressOf(usual, group)).toEqual([{ IpProtocol: '-1', SourceSecurityGroupId: sharedGroup(usual) }]);
      expect(resourcesOf(usual)[group['Fn::GetAtt'][0]].Properties).not.toHaveProperty('SecurityGroupIngress');
      expect(instance).not.toHaveProperty('KeyName');
    });

    test('may do nothing in the account', () => {
      const [profile] = Object.values(usual.template.findResources('AWS::IAM::InstanceProfile'));
      const role = profile?.Properties.Roles[0].Ref;
      expect(Object.keys(resourcesOf(usual)[role].Properties)).toEqual(['AssumeRolePolicyDocument', 'Tags']);
      const policies = Object.values(usual.template.findResources('AWS::IAM::Policy'));
      expect(policies.filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(role))).toEqual([]);
    });

    test('keeps its image until a release wants another: no deploy looks one up', () => {
      expect(instance).not.toHaveProperty('ImageId');
      expect(instance.LaunchTemplate.Version).toEqual({ 'Fn::GetAtt': [expect.anything(), 'LatestVersionNumber'] });
      expect(launch.ImageId).toMatch(/^resolve:ssm:.*al2023.*arm64$/);
      expect(JSON.stringify(usual.template.toJSON().Parameters)).not.toMatch(/ami/i);
    });

    test('starts when it can reach the internet, from which it installs what it needs', () => {
      const routes = Object.entries(usual.template.findResources('AWS::EC2::Route'));
      const toInternet = routes.filter(([, { Properties }]) => Properties.GatewayId).map(([route]) => route);
      expect(toInternet).toHaveLength(2);
      expect(DependsOn).toEqual(expect.arrayContaining(toInternet));
    });
  });

  test('with a NAT gateway has one, and both zones use it', () => {
    const of = by.natGateway;
    of.template.resourceCountIs('AWS::EC2::Instance', 0);
    const [id, ...others] = Object.keys(of.template.findResources('AWS::EC2::NatGateway'));
    expect(others).toEqual([]);
    expect(waysOut(of, 'Functions')).toEqual([{ NatGatewayId: { Ref: id } }, { NatGatewayId: { Ref: id } }]);
  });

  describe('without a way out', () => {
    const endpoints = Object.values(by.none.template.findResources('AWS::EC2::VPCEndpoint'));

    test('has none', () => {
      for (const type of ['Instance', 'NatGateway', 'InternetGateway', 'Route']) {
        by.none.template.resourceCountIs(`AWS::EC2::${type}`, 0);
      }
    });

    test.each([
      ['second', ['secretsmanager']],
      ['instant', ['lambda', 'secretsmanager']],
    ] as const)('has endpoints for what the functions call with pickup %s', (pickup, services) => {
      const { template } = synthesize(() => ({ egress: 'none', pickup }));
      const names = Object.values(template.findResources('AWS::EC2::VPCEndpoint')).map(
        ({ Properties }) => /\.(\w+)"/.exec(JSON.stringify(Properties.ServiceName))?.[1],
      );
      expect(names.sort()).toEqual(services);
    });

    test('lets the functions to the endpoints, and nobody else', () => {
      expect(endpoints).toHaveLength(2);
      for (const { Properties } of endpoints) {
        expect(Properties.PrivateDnsEnabled).toBe(true);
        const [group] = Properties.SecurityGroupIds;
        expect(ingressOf(by.none, group)).toEqual([
          { IpProtocol: 'tcp', FromPort: 443, ToPort: 443, SourceSecurityGroupId: sharedGroup(by.none) },
        ]);
        expect(resourcesOf(by.none)[group['Fn::GetAtt'][0]].Properties).not.toHaveProperty('SecurityGroupIngress');
      }
    });

    test.each([
      ['none', 1],
      ['natGateway', 0],
      ['natInstance', 0],
    ] as const)('says so at synth: %s', (egress, warnings) => {
      synthesize(
        () => ({ egress }),
        (_, stack) => {
          const found = Annotations.fromStack(stack).findWarning(
            '*',
            Match.stringLikeRegexp('processors reach .*nothing else'),
          );
          expect(found).toHaveLength(warnings);
        },
      );
    });
  });
});

test.each(withDatabase)('%s runs in the VPC, in the security group that all functions share', (name) => {
  const { VpcConfig } = propertiesOf(usual.template, functionOf(usual, name));
  expect(VpcConfig.SecurityGroupIds).toEqual([sharedGroup(usual)]);
  expect(VpcConfig.SubnetIds.map(({ Ref }: { Ref: string }) => Ref)).toEqual(subnets(usual, 'Functions'));
});

describe('a given VPC', () => {
  const ids = (of: ec2.ISubnet[]) => of.map((subnet) => ({ Ref: idOf(subnet) }));
  const placesOf = (of: Synthesized) => ({
    functions: propertiesOf(of.template, functionOf(of, 'work')).VpcConfig.SubnetIds,
    database: only(of.template, 'AWS::RDS::DBSubnetGroup').SubnetIds,
  });

  test('has the functions where there is a way out, the database where there is none', () => {
    const of = synthesize((stack) => ({ vpc: fullVpc(stack) }));
    const { privateSubnets = [], isolatedSubnets = [] } = of.queue.vpc ?? {};
    expect(placesOf(of)).toEqual({ functions: ids(privateSubnets), database: ids(isolatedSubnets) });
  });

  test.each([ec2.SubnetType.PRIVATE_ISOLATED, ec2.SubnetType.PRIVATE_WITH_EGRESS])(
    'with private subnets of the one type %s has both there',
    (type) => {
      const of = synthesize((stack) => ({ vpc: vpcOf(ec2.SubnetType.PUBLIC, type)(stack) }));
      const all = ids([...(of.queue.vpc?.privateSubnets ?? []), ...(of.queue.vpc?.isolatedSubnets ?? [])]);
      expect(all).toHaveLength(2);
      expect(placesOf(of)).toEqual({ functions: all, database: all });
    },
  );

  test('has them where advanced props say', () => {
    const of = synthesize((stack) => ({
      vpc: fullVpc(stack),
      advanced: {
        functionSubnets: { subnetType: ec2.SubnetType.PRIVATE_ISOLATED },
        databaseSubnets: { subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS },
      },
    }));
    const { privateSubnets = [], isolatedSubnets = [] } = of.queue.vpc ?? {};
    expect(placesOf(of)).toEqual({ functions: ids(isolatedSubnets), database: ids(privateSubnets) });
  });

  test('may have public subnets alone, if advanced props say where the functions go', () => {
    const of = synthesize((stack) => ({
      vpc: vpcOf(ec2.SubnetType.PUBLIC)(stack),
      database: bySecret(stack),
      advanced: { functionSubnets: { subnets: [ec2.Subnet.fromSubnetId(stack, 'Shared', 'subnet-1')] } },
    }));
    expect(propertiesOf(of.template, functionOf(of, 'work')).VpcConfig.SubnetIds).toEqual(['subnet-1']);
  });

  test('that the app does not define gets security groups and nothing else', () => {
    const { template } = synthesize((stack) => ({
      pickup: 'instant',
      vpc: ec2.Vpc.fromVpcAttributes(stack, 'Own', {
        vpcId: 'vpc-0123456789abcdef0',
        availabilityZones: ['us-east-1a', 'us-east-1b'],
        privateSubnetIds: ['subnet-1', 'subnet-2'],
        privateSubnetRouteTableIds: ['rtb-1', 'rtb-2'],
        isolatedSubnetIds: ['subnet-3', 'subnet-4'],
        isolatedSubnetRouteTableIds: ['rtb-3', 'rtb-4'],
      }),
    }));
    const types = Object.values(template.toJSON().Resources).map((resource) => (resource as { Type: string }).Type);
    expect(new Set(types.filter((type) => type.startsWith('AWS::EC2::')))).toEqual(
      new Set(['AWS::EC2::SecurityGroup', 'AWS::EC2::SecurityGroupIngress']),
    );
    expect(only(template, 'AWS::RDS::DBSubnetGroup').SubnetIds).toEqual(['subnet-3', 'subnet-4']);
  });

  test('without a way out is warned of, unless the subnets are said', () => {
    const warnings = (advanced: AdvancedProps) => {
      let found: unknown[] = [];
      const props = (stack: Stack) => ({
        advanced,
        vpc: ec2.Vpc.fromVpcAttributes(stack, 'Own', {
          vpcId: 'vpc-0123456789abcdef0',
          availabilityZones: ['us-east-1a', 'us-east-1b'],
          isolatedSubnetIds: ['subnet-3', 'subnet-4'],
          isolatedSubnetRouteTableIds: ['rtb-3', 'rtb-4'],
        }),
      });
      synthesize(props, (_, stack) => {
        found = Annotations.fromStack(stack).findWarning(
          '*',
          Match.stringLikeRegexp('Secrets Manager by an interface endpoint'),
        );
      });
      return found;
    };
    expect(warnings({})).toHaveLength(1);
    expect(warnings({ functionSubnets: { subnetType: ec2.SubnetType.PRIVATE_ISOLATED } })).toEqual([]);
  });
});

test('a server of another stack lets the functions in by a rule of the queue, so that neither stack needs the other to be first', () => {
  inApp({}, (app) => {
    const base = new Stack(app, 'Base');
    const vpc = fullVpc(base);
    const cluster = new rds.DatabaseCluster(base, 'Cluster', {
      engine: rds.DatabaseClusterEngine.auroraPostgres({ version: rds.AuroraPostgresEngineVersion.VER_16_4 }),
      writer: rds.ClusterInstance.provisioned('writer'),
      vpc,
    }) as unknown as rds.IDatabaseCluster;
    const stack = new Stack(app, 'Queue');
    new JobQueue(stack, 'Jobs', { ...SAMPLE, vpc, database: JobDatabase.fromCluster(cluster) });
    expect(Object.keys(Template.fromStack(base).findResources('AWS::EC2::SecurityGroupIngress'))).toEqual([]);
    const { SourceSecurityGroupId, IpProtocol } = only(Template.fromStack(stack), 'AWS::EC2::SecurityGroupIngress');
    expect(IpProtocol).toBe('tcp');
    expect(SourceSecurityGroupId['Fn::GetAtt'][0]).toMatch(/^JobsNetworkFunctionSecurityGroup/);
  });
});

const imported = (stack: Stack) =>
  rds.DatabaseInstance.fromDatabaseInstanceAttributes(stack, 'Instance', {
    instanceIdentifier: 'main',
    instanceEndpointAddress: 'main.example.com',
    port: 5432,
    securityGroups: [],
  });

test('for a database by secret there is no VPC at all, unless one is given', () => {
  const none = synthesize((stack) => ({ database: bySecret(stack) }));
  expect(JSON.stringify(none.template.toJSON())).not.toContain('AWS::EC2::');
  expect(none.queue.vpc).toBeUndefined();
  for (const name of withDatabase) {
    expect(propertiesOf(none.template, functionOf(none, name))).not.toHaveProperty('VpcConfig');
  }
  const given = synthesize((stack) => ({ database: bySecret(stack), vpc: fullVpc(stack) }));
  expect(propertiesOf(given.template, functionOf(given, 'work')).VpcConfig.SubnetIds).toHaveLength(2);
});

test.each<[string, (stack: Stack) => Partial<JobQueueProps>, string]>([
  [
    'egress of a given VPC',
    (stack) => ({ vpc: fullVpc(stack), egress: 'none' }),
    'egress is for a VPC that the queue makes',
  ],
  [
    'egress without a VPC',
    (stack) => ({ database: bySecret(stack), egress: 'none' }),
    'its functions run outside any VPC',
  ],
  ['subnets of no VPC', () => ({ advanced: { functionSubnets: {} } }), 'are subnets of a given vpc: give it as well'],
  [
    'subnets for a database that is there',
    (stack) => ({ vpc: fullVpc(stack), database: bySecret(stack), advanced: { databaseSubnets: {} } }),
    'this one is there already',
  ],
  [
    'a database that is in some VPC',
    (stack) => ({ database: JobDatabase.fromInstance(imported(stack)) }),
    'vpc is missing: give the VPC that the database is in',
  ],
  [
    'a VPC with public subnets alone',
    (stack) => ({ vpc: vpcOf(ec2.SubnetType.PUBLIC)(stack) }),
    'The given vpc has public subnets only',
  ],
])('%s is refused at synth', (_, props, sentence) => {
  expect(() => synthesize(props)).toThrow(sentence);
});
