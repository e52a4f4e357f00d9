import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { tameProvider } from '../functions/provider-functions.ts';
import type { Egress } from '../job-queue-props.ts';
import { NatInstance } from './nat-instance.ts';

/** A VPC of the queue's own in two zones, with a way out as the prop `egress` says. */
export class NewVpc {
  readonly vpc: ec2.IVpc;
  readonly functionSubnets: ec2.SubnetSelection = { subnetGroupName: 'Functions' };
  readonly databaseSubnets: ec2.SubnetSelection = { subnetGroupName: 'Database' };
  readonly #scope: Construct;
  readonly #egress: Egress;
  readonly #nat: NatInstance | undefined;

  constructor(scope: Construct, egress: Egress) {
    this.#scope = scope;
    this.#egress = egress;
    this.#nat = egress === 'natInstance' ? new NatInstance() : undefined;
    const isolated = egress === 'none';
    const vpc = new ec2.Vpc(scope, 'Vpc', {
      maxAzs: 2,
      // One for both zones: a zone that fails takes the other's way out with it, and a second doubles the price.
      natGateways: isolated ? 0 : 1,
      ...(this.#nat && { natGatewayProvider: this.#nat.provider }),
      restrictDefaultSecurityGroup: true,
      subnetConfiguration: [
        // Without a way out its addresses are kept free, so that one can be added later without replacing anything.
        {
          name: 'Public',
          subnetType: ec2.SubnetType.PUBLIC,
          cidrMask: 24,
          reserved: isolated,
          // The NAT asks for its address; whatever else somebody puts there must do so, too.
          mapPublicIpOnLaunch: false,
        },
        {
          name: 'Functions',
          subnetType: isolated ? ec2.SubnetType.PRIVATE_ISOLATED : ec2.SubnetType.PRIVATE_WITH_EGRESS,
          cidrMask: 20,
        },
        { name: 'Database', subnetType: ec2.SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
      ],
    });
    this.#nat?.harden(vpc);
    tameProvider(scope, 'Custom::VpcRestrictDefaultSG');
    logRefusals(scope, vpc);
    // Vpc is an IVpc in all but exactOptionalPropertyTypes, which CDK's types do not know.
    this.vpc = vpc as unknown as ec2.IVpc;
  }

  /** Gives the functions their way out. @param wakes whether they start workers, by Lambda's API */
  letOut(functions: ec2.ISecurityGroup, { wakes }: { wakes: boolean }): void {
    this.#nat?.allowFrom(functions);
    if (this.#egress !== 'none') return;
    this.#addEndpoint('SecretsManagerEndpoint', 'SECRETS_MANAGER', functions);
    if (wakes) this.#addEndpoint('LambdaEndpoint', 'LAMBDA', functions);
    const reachable = ['the database', 'Secrets Manager', ...(wakes ? ['Lambda'] : [])].join(', ');
    Annotations.of(this.#scope).addWarningV2(
      'millrace:noEgress',
      `egress is 'none': processors reach ${reachable} and nothing else, be it on the internet or an API of AWS.`,
    );
  }

  #addEndpoint(id: string, service: 'SECRETS_MANAGER' | 'LAMBDA', functions: ec2.ISecurityGroup): void {
    const endpoint = new ec2.InterfaceVpcEndpoint(this.#scope, id, {
      vpc: this.vpc,
      service: ec2.InterfaceVpcEndpointAwsService[service],
      subnets: this.functionSubnets,
      open: false,
    });
    endpoint.connections.allowDefaultPortFrom(functions, 'Functions of the job queue');
  }
}

/**
 * Who was turned away, for two weeks. Accepted traffic is left out: that would be the functions talking to the database, a
 * record each for every worker and minute, and costs by the byte.
 */
function logRefusals(scope: Construct, vpc: ec2.Vpc): void {
  const logGroup: unknown = new logs.LogGroup(scope, 'RefusedTraffic', {
    retention: logs.RetentionDays.TWO_WEEKS,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  vpc.addFlowLog('RefusedTraffic', {
    trafficType: ec2.FlowLogTrafficType.REJECT,
    maxAggregationInterval: ec2.FlowLogMaxAggregationInterval.TEN_MINUTES,
    destination: ec2.FlowLogDestination.toCloudWatchLogs(logGroup as logs.ILogGroup, flowLogRole(scope)),
  });
}

/** As CDK makes it, but for flow logs of this account alone: the service acts for others too. */
function flowLogRole(scope: Construct): iam.IRole {
  const stack = Stack.of(scope);
  const flowLogs = stack.formatArn({ service: 'ec2', resource: 'vpc-flow-log', resourceName: '*' });
  const role: unknown = new iam.Role(scope, 'RefusedTrafficRole', {
    description: 'Writes down who was turned away from the VPC of the job queue',
    assumedBy: new iam.ServicePrincipal('vpc-flow-logs.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': stack.account }, ArnLike: { 'aws:SourceArn': flowLogs } },
    }),
  });
  // Role is an IRole in all but exactOptionalPropertyTypes, which CDK's types do not know.
  return role as iam.IRole;
}
