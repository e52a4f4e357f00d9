import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as rds from 'aws-cdk-lib/aws-rds';
import type { Construct } from 'constructs';
import type { ApiFunctions } from '../../lib/api/api.ts';
import type { MonitoredCluster, MonitoredInstance } from '../../lib/database/database.ts';

/** A stack of what `define` makes, without the rest of a queue: bundling nothing, it takes milliseconds. */
export function stackOf<Made>(define: (stack: Stack) => Made): { made: Made; template: Template; stack: Stack } {
  const stack = new Stack(new App(), 'Parts');
  const made = define(stack);
  return { made, template: Template.fromStack(stack), stack };
}

export function someFunction(scope: Construct, id: string, props: Partial<lambda.FunctionProps> = {}): lambda.Function {
  return new lambda.Function(scope, id, {
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    handler: 'index.handler',
    code: lambda.Code.fromInline('exports.handler = async () => {}'),
    ...props,
  });
}

const API_FUNCTIONS = ['enqueue', 'jobsRead', 'manage', 'ready', 'metrics', 'openapi', 'health', 'fallback'] as const;

export function apiFunctions(scope: Construct): ApiFunctions & Readonly<Record<string, lambda.Function>> {
  const functions = API_FUNCTIONS.map((name) => [name, someFunction(scope, name)]);
  return Object.fromEntries(functions) as Record<keyof ApiFunctions, lambda.Function>;
}

/** A database instance that is there already. */
export function someInstance(scope: Construct, own: Partial<MonitoredInstance> = {}): MonitoredInstance {
  const instance = rds.DatabaseInstance.fromDatabaseInstanceAttributes(scope, 'Instance', {
    instanceIdentifier: 'jobs-db',
    instanceEndpointAddress: 'jobs-db.example',
    port: 5432,
    securityGroups: [ec2.SecurityGroup.fromSecurityGroupId(scope, 'DatabaseGroup', 'sg-1')],
  });
  return {
    kind: 'instance',
    instance,
    instanceClass: 'db.t4g.micro',
    allocatedGibibytes: 20,
    maxConnections: 79,
    ...own,
  };
}

export function someCluster(scope: Construct, own: Partial<MonitoredCluster> = {}): MonitoredCluster {
  const cluster = rds.DatabaseCluster.fromDatabaseClusterAttributes(scope, 'Cluster', {
    clusterIdentifier: 'jobs-cluster',
  });
  return { kind: 'cluster', cluster, maxConnections: 1000, ...own };
}
