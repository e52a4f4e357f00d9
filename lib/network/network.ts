import { Annotations, CfnResource } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import { checkNetwork, type NetworkProps } from './network-props.ts';
import { NewVpc } from './new-vpc.ts';

/** Where a function runs inside a VPC: props of its `lambda.Function`. */
export interface Place {
  readonly vpc: ec2.IVpc;
  readonly vpcSubnets: ec2.SubnetSelection;
  readonly securityGroups: ec2.ISecurityGroup[];
}

/**
 * Where the database and the functions that need it live: a VPC of the queue's own, one that is given, or none. In a given one
 * nothing is created but the functions' security group: a second endpoint with private DNS would fail the deploy.
 */
export class Network extends Construct {
  /** @default - none: functions run outside any VPC */
  readonly vpc: ec2.IVpc | undefined;
  /** Where functions that use the database run. @default - outside any VPC */
  readonly place: Place | undefined;
  /** Where a new database goes. @default - there is one already */
  readonly databasePlace: Omit<Place, 'securityGroups'> | undefined;
  /**
   * One group for all functions. With a group each, the migration cannot run before the other functions are updated:
   * the database's ingress rules would need their groups, which would wait for the migration.
   */
  readonly functionSecurityGroup: ec2.ISecurityGroup | undefined;

  /** @throws Error that names the props which do not go together */
  constructor(scope: Construct, id: string, props: NetworkProps) {
    super(scope, id);
    checkNetwork(props);
    const { egress = 'natInstance' } = props;
    const forNewDatabase = props.database.vpcNeed === 'any';
    const own = props.vpc === undefined && forNewDatabase ? new NewVpc(this, egress) : undefined;
    const vpc = props.vpc ?? own?.vpc;
    if (vpc === undefined) return;
    const group: unknown = new ec2.SecurityGroup(this, 'FunctionSecurityGroup', {
      vpc,
      description: 'Functions of the job queue',
    });
    // SecurityGroup is an ISecurityGroup in all but exactOptionalPropertyTypes, which CDK's types do not know.
    this.functionSecurityGroup = group as ec2.ISecurityGroup;
    this.vpc = vpc;
    this.place = {
      vpc,
      vpcSubnets: props.functionSubnets ?? own?.functionSubnets ?? subnetsWithEgressOf(vpc),
      securityGroups: [this.functionSecurityGroup],
    };
    if (forNewDatabase) {
      const vpcSubnets = props.databaseSubnets ?? own?.databaseSubnets ?? isolatedSubnetsOf(vpc);
      this.databasePlace = { vpc, vpcSubnets };
    }
    if (props.vpc && !props.functionSubnets && props.vpc.privateSubnets.length === 0) this.#warnOfIsolation();
    own?.letOut(this.functionSecurityGroup, { wakes: props.pickup === 'instant' });
  }

  #warnOfIsolation(): void {
    Annotations.of(this).addWarningV2(
      'millrace:isolated',
      'The given vpc has no private subnet with a way out, so the functions run in isolated ones: they reach Secrets Manager by ' +
        'an interface endpoint of the vpc or not at all, and then the first migration fails. Acknowledge this if there is one.',
    );
  }

  /**
   * Lets the functions connect to a server, on the port that is its default.
   * @returns the rules that were made beside the server; others are in this construct
   */
  allowFunctionsTo({ connections: { securityGroups, defaultPort } }: ec2.IConnectable): CfnResource[] {
    const { functionSecurityGroup } = this;
    if (functionSecurityGroup === undefined) return [];
    return securityGroups.flatMap((group) => {
      const before = new Set(group.node.children);
      // As a remote rule it is a resource of the queue's stack, even where the server is in another one: that one would
      // otherwise need the functions' group, and each stack the other.
      group.addIngressRule(functionSecurityGroup, portOf(defaultPort), 'Functions of the job queue', true);
      return group.node.children.filter((child) => child instanceof CfnResource && !before.has(child)) as CfnResource[];
    });
  }
}

function portOf(port: ec2.Port | undefined): ec2.Port {
  if (port !== undefined) return port;
  throw new Error(
    'The port of the database must be known to let the functions in: give it where the database is imported.',
  );
}

function subnetsWithEgressOf(vpc: ec2.IVpc): ec2.SubnetSelection {
  return preferred(vpc, [ec2.SubnetType.PRIVATE_WITH_EGRESS, ec2.SubnetType.PRIVATE_ISOLATED]);
}

function isolatedSubnetsOf(vpc: ec2.IVpc): ec2.SubnetSelection {
  return preferred(vpc, [ec2.SubnetType.PRIVATE_ISOLATED, ec2.SubnetType.PRIVATE_WITH_EGRESS]);
}

function preferred(vpc: ec2.IVpc, types: readonly ec2.SubnetType[]): ec2.SubnetSelection {
  const counts = {
    [ec2.SubnetType.PRIVATE_WITH_EGRESS]: vpc.privateSubnets.length,
    [ec2.SubnetType.PRIVATE_ISOLATED]: vpc.isolatedSubnets.length,
  } as Partial<Record<ec2.SubnetType, number>>;
  const subnetType = types.find((type) => (counts[type] ?? 0) > 0);
  if (subnetType !== undefined) return { subnetType };
  throw new Error(
    'The given vpc has public subnets only, and a function in one of them reaches neither the internet nor AWS. Add private ' +
      'subnets with a NAT, or let the queue make a VPC of its own.',
  );
}
