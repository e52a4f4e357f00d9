import { type Duration, RemovalPolicy, type Size, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import type { Bundles } from './bundles.ts';
import { certificatePath } from './certificates.ts';
import type { Network } from './network.ts';
import { NODE_OPTIONS } from './node-options.ts';

export interface HandlerFunctionProps {
  /** Where its code is, under `bundle`. */
  readonly bundles: Bundles;
  readonly bundle: string;
  readonly description: string;
  readonly timeout: Duration;
  readonly memory: Size;
  readonly environment?: Readonly<Record<string, string>>;
  /** @default - no database: not in its VPC, not allowed to read its secret */
  readonly database?: DatabaseAccess;
  /** Folders that go into the bundle, by the name they have there. @default - none */
  readonly folders?: Readonly<Record<string, string>>;
}

/** What a function needs to reach the database. */
export interface DatabaseAccess {
  readonly network: Network;
  readonly secret: secretsmanager.ISecret;
  /** Path of a PEM file with the certificates that vouch for its server. @default - those of RDS */
  readonly ca?: string | undefined;
}

/** One of our handlers as a Lambda function, with what all of them have in common. */
export function handlerFunction(scope: Construct, id: string, props: HandlerFunctionProps): lambda.Function {
  const fn = new lambda.Function(scope, id, {
    description: props.description,
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    handler: 'index.handler',
    code: props.bundles.code(props.bundle, {
      database: props.database !== undefined,
      databaseCa: props.database?.ca,
      folders: props.folders,
    }),
    timeout: props.timeout,
    memorySize: props.memory.toMebibytes(),
    environment: {
      LOG_LEVEL: 'info',
      NODE_OPTIONS,
      ...(props.database && databaseEnvironment(scope, props.database)),
      ...props.environment,
    },
    logGroup: new logs.LogGroup(scope, `${id}Logs`, {
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    }),
    ...(props.database && placeOf(props.database)),
  });
  props.database?.secret.grantRead(fn);
  return fn;
}

/** The certificates' path is relative to the bundle. */
function databaseEnvironment(scope: Construct, { secret, ca }: DatabaseAccess): Record<string, string> {
  return {
    DATABASE_SECRET_ARN: secret.secretArn,
    DATABASE_CA_FILE: certificatePath(Stack.of(scope).region, ca),
  };
}

function placeOf({ network }: DatabaseAccess) {
  return {
    vpc: network.vpc,
    vpcSubnets: network.functionSubnets,
    securityGroups: [network.functionSecurityGroup],
  };
}
