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
  /** Secrets that it may read, by the variables that hold their ARNs. @default - none but that of the database */
  readonly secrets?: Readonly<Record<string, secretsmanager.ISecret>>;
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
  const secrets = { ...(props.database && { DATABASE_SECRET_ARN: props.database.secret }), ...props.secrets };
  const fn = new lambda.Function(scope, id, {
    description: props.description,
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    handler: 'index.handler',
    code: props.bundles.code(props.bundle, {
      sdk: Object.keys(secrets).length > 0,
      certificates: props.database && { own: props.database.ca },
      folders: props.folders,
    }),
    timeout: props.timeout,
    memorySize: props.memory.toMebibytes(),
    environment: {
      LOG_LEVEL: 'info',
      NODE_OPTIONS,
      ...Object.fromEntries(Object.entries(secrets).map(([name, { secretArn }]) => [name, secretArn])),
      // Relative to the bundle.
      ...(props.database && { DATABASE_CA_FILE: certificatePath(Stack.of(scope).region, props.database.ca) }),
      ...props.environment,
    },
    logGroup: new logs.LogGroup(scope, `${id}Logs`, {
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    }),
    ...(props.database && placeOf(props.database)),
  });
  for (const secret of Object.values(secrets)) secret.grantRead(fn);
  return fn;
}

function placeOf({ network }: DatabaseAccess) {
  return {
    vpc: network.vpc,
    vpcSubnets: network.functionSubnets,
    securityGroups: [network.functionSecurityGroup],
  };
}
