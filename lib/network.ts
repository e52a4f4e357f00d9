import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';

export interface NetworkProps {
  /** @default - a new VPC in two availability zones, with no way to the internet */
  readonly vpc?: ec2.IVpc;
}

/** Where the database and the functions that need it live, and how these functions reach Secrets Manager. */
export class Network extends Construct {
  readonly vpc: ec2.IVpc;
  readonly functionSubnets: ec2.SubnetSelection;
  readonly databaseSubnets: ec2.SubnetSelection;
  /**
   * One group for all functions. With a group each, the migration cannot run before the other functions are updated:
   * the database's ingress rules would need their groups, which would wait for the migration.
   */
  readonly functionSecurityGroup: ec2.ISecurityGroup;

  constructor(scope: Construct, id: string, { vpc }: NetworkProps = {}) {
    super(scope, id);
    this.vpc = vpc ?? this.newVpc();
    this.functionSubnets = vpc ? privateSubnetsOf(vpc) : { subnetGroupName: 'Functions' };
    this.databaseSubnets = vpc ? isolatedSubnetsOf(vpc) : { subnetGroupName: 'Database' };
    this.functionSecurityGroup = new ec2.SecurityGroup(this, 'FunctionSecurityGroup', {
      vpc: this.vpc,
      description: 'Functions of the job queue',
    });
    if (!vpc) this.addSecretsEndpoint();
  }

  /** The addresses of public subnets are kept free, so that a way out can be added without replacing anything. */
  private newVpc(): ec2.IVpc {
    const vpc: unknown = new ec2.Vpc(this, 'Vpc', {
      maxAzs: 2,
      natGateways: 0,
      subnetConfiguration: [
        { name: 'Public', subnetType: ec2.SubnetType.PUBLIC, cidrMask: 24, reserved: true },
        { name: 'Functions', subnetType: ec2.SubnetType.PRIVATE_ISOLATED, cidrMask: 20 },
        { name: 'Database', subnetType: ec2.SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
      ],
    });
    // Vpc is an IVpc in all but exactOptionalPropertyTypes, which CDK's types do not know.
    return vpc as ec2.IVpc;
  }

  private addSecretsEndpoint(): void {
    const endpoint = new ec2.InterfaceVpcEndpoint(this, 'SecretsManagerEndpoint', {
      vpc: this.vpc,
      service: ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
      subnets: this.functionSubnets,
      open: false,
    });
    endpoint.connections.allowDefaultPortFrom(this.functionSecurityGroup, 'Functions read the database secret');
  }
}

function privateSubnetsOf(vpc: ec2.IVpc): ec2.SubnetSelection {
  const withEgress = vpc.privateSubnets.length > 0;
  return { subnetType: withEgress ? ec2.SubnetType.PRIVATE_WITH_EGRESS : ec2.SubnetType.PRIVATE_ISOLATED };
}

function isolatedSubnetsOf(vpc: ec2.IVpc): ec2.SubnetSelection {
  const isolated = vpc.isolatedSubnets.length > 0;
  return { subnetType: isolated ? ec2.SubnetType.PRIVATE_ISOLATED : ec2.SubnetType.PRIVATE_WITH_EGRESS };
}
