import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as logs from 'aws-cdk-lib/aws-logs';
import { type Construct, Dependable, type IConstruct } from 'constructs';
import { acknowledge } from '../acknowledge.ts';

export interface FunctionRoleProps {
  /** The only log group that it writes to. */
  readonly logGroup: logs.LogGroup;
  readonly inVpc: boolean;
  readonly tracing: lambda.Tracing;
}

/**
 * The role of one function, without the policies that AWS manages: these allow every log group of the account. What Lambda
 * needs to run the function is in the role itself; what is granted to the function goes into a policy beside it.
 */
export function functionRole(scope: Construct, id: string, { logGroup, inVpc, tracing }: FunctionRoleProps): iam.Role {
  const starred = [...(tracing === lambda.Tracing.ACTIVE ? [trace()] : []), ...(inVpc ? [network()] : [])];
  const role = new iam.Role(scope, id, {
    assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
    inlinePolicies: { Runtime: new iam.PolicyDocument({ statements: [log(logGroup), ...starred] }) },
  });
  // A function refers to its role, which is order enough. What must be there besides is the policy, if there is one: a first
  // call would come too early otherwise.
  Dependable.implement(role, {
    get dependencyRoots() {
      return [role.node.tryFindChild('DefaultPolicy')].filter((policy) => policy !== undefined);
    },
  });
  // Of the role's own statements alone: what others grant is for them to explain.
  if (starred.length > 0) {
    acknowledge(role.node.defaultChild as IConstruct, {
      'AwsSolutions-IAM5[Resource::*]': STAR_REASON,
      'Serverless-LambdaStarPermissions': STAR_REASON,
    });
  }
  return role;
}

const STAR_REASON =
  'X-Ray has no resources that a policy could name, and the network interfaces of a function in a VPC are made by Lambda under ' +
  'names that nobody knows beforehand.';

function log(logGroup: logs.LogGroup): iam.PolicyStatement {
  return new iam.PolicyStatement({
    sid: 'WriteOwnLog',
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    resources: [logGroup.logGroupArn],
  });
}

function trace(): iam.PolicyStatement {
  return new iam.PolicyStatement({
    sid: 'SendTraces',
    actions: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'],
    resources: ['*'],
  });
}

/** As AWSLambdaVPCAccessExecutionRole has them: without each of these Lambda refuses to create the function. */
const ATTACHING = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

function network(): iam.PolicyStatement {
  return new iam.PolicyStatement({ sid: 'AttachToVpc', actions: ATTACHING, resources: ['*'] });
}

/**
 * Takes from the code of a function what Lambda itself needs of its role to attach it to the VPC: otherwise a processor, or
 * whatever it has installed, could delete any network interface of the account. A policy of its own, since it names the
 * function, which needs its role before.
 */
export function denyAttachingToCode(fn: lambda.Function): void {
  const role: unknown = fn.role;
  new iam.Policy(fn, 'OwnCode', {
    roles: [role as iam.IRole],
    statements: [
      new iam.PolicyStatement({
        sid: 'LeaveNetworkToLambda',
        effect: iam.Effect.DENY,
        actions: ATTACHING,
        resources: ['*'],
        conditions: { ArnEquals: { 'lambda:SourceFunctionArn': fn.functionArn } },
      }),
    ],
  });
}
