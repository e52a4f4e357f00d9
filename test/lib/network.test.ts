import { Match } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { expect, test } from 'vitest';
import { idOf, only, propertiesOf, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();
const withDatabase = ['enqueue', 'jobsRead', 'manage', 'ready', 'metrics', 'work', 'reap', 'migrate'] as const;

/** Logical ids of the subnets of that name. */
function subnets(name: string): string[] {
  const Tags = Match.arrayWith([{ Key: 'aws-cdk:subnet-name', Value: name }]);
  return Object.keys(template.findResources('AWS::EC2::Subnet', { Properties: { Tags } }));
}

test('a new VPC has nothing to pay for by the hour but one endpoint', () => {
  template.resourceCountIs('AWS::EC2::NatGateway', 0);
  template.resourceCountIs('AWS::EC2::VPCEndpoint', 1);
});

test('addresses are kept free for public subnets, so that a way out can come later', () => {
  const ranges = Object.values(template.findResources('AWS::EC2::Subnet')).map(
    ({ Properties }) => Properties.CidrBlock,
  );
  expect(ranges.sort()).toEqual(['10.0.16.0/20', '10.0.32.0/20', '10.0.48.0/24', '10.0.49.0/24']);
});

test.each(withDatabase)('%s runs in the VPC, in the security group that all functions share', (name) => {
  const { VpcConfig } = propertiesOf(template, queue.functions[name]);
  const [shared] = queue.functions.work.connections.securityGroups;
  expect(VpcConfig.SecurityGroupIds).toEqual([{ 'Fn::GetAtt': [shared && idOf(shared), 'GroupId'] }]);
  expect(VpcConfig.SubnetIds.map(({ Ref }: { Ref: string }) => Ref)).toEqual(subnets('Functions'));
});

test.each(['health', 'fallback'] as const)('%s stays outside', (name) => {
  expect(propertiesOf(template, queue.functions[name]).VpcConfig).toBeUndefined();
});

test('the database has subnets of its own', () => {
  const { SubnetIds } = only(template, 'AWS::RDS::DBSubnetGroup');
  expect(SubnetIds.map(({ Ref }: { Ref: string }) => Ref)).toEqual(subnets('Database'));
});

test('functions reach Secrets Manager inside the VPC, and nobody else does', () => {
  const endpoint = only(template, 'AWS::EC2::VPCEndpoint');
  expect(JSON.stringify(endpoint.ServiceName)).toContain('.secretsmanager');
  expect(endpoint.PrivateDnsEnabled).toBe(true);
  const [{ 'Fn::GetAtt': own }] = endpoint.SecurityGroupIds;
  expect(template.toJSON().Resources[own[0]].Properties.SecurityGroupIngress).toBeUndefined();
  const ingress = only(template, 'AWS::EC2::SecurityGroupIngress', {
    GroupId: endpoint.SecurityGroupIds[0],
    ToPort: 443,
  });
  const [shared] = queue.functions.work.connections.securityGroups;
  expect(ingress.SourceSecurityGroupId).toEqual({ 'Fn::GetAtt': [shared && idOf(shared), 'GroupId'] });
});

test('in a given VPC functions take the subnets with a way out, the database those without, and nothing is added', () => {
  const given = synthesize((stack) => ({
    vpc: new ec2.Vpc(stack, 'Own', {
      maxAzs: 2,
      natGateways: 1,
      subnetConfiguration: [
        { name: 'Edge', subnetType: ec2.SubnetType.PUBLIC },
        { name: 'App', subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS },
        { name: 'Data', subnetType: ec2.SubnetType.PRIVATE_ISOLATED },
      ],
    }) as ec2.IVpc,
  }));
  const own = given.queue.vpc;
  const ids = (of: ec2.ISubnet[]) => of.map((subnet) => ({ Ref: idOf(subnet) }));
  expect(propertiesOf(given.template, given.queue.functions.work).VpcConfig.SubnetIds).toEqual(ids(own.privateSubnets));
  expect(only(given.template, 'AWS::RDS::DBSubnetGroup').SubnetIds).toEqual(ids(own.isolatedSubnets));
  given.template.resourceCountIs('AWS::EC2::VPC', 1);
  given.template.resourceCountIs('AWS::EC2::VPCEndpoint', 0);
});
