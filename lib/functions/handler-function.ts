import { type Duration, RemovalPolicy, type Size } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { acknowledge } from '../acknowledge.ts';
import type { Bundles } from '../bundles/bundles.ts';
import type { SdkPart } from '../bundles/sdk.ts';
import type { DatabaseAccess } from '../database/database-access.ts';
import { denyAttachingToCode, functionRole } from './function-role.ts';
import { NODE_OPTIONS } from './node-options.ts';

export interface HandlerFunctionProps {
  /** Where its code is, under `bundle`. */
  readonly bundles: Bundles;
  readonly bundle: string;
  readonly description: string;
  readonly timeout: Duration;
  readonly memory: Size;
  /** @default - what all of them have */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** @default - no database: not in its VPC, not allowed to read a login */
  readonly database?: DatabaseAccess | undefined;
  /** Secrets that it may read, by the variables that hold their ARNs. @default - none but those of the database */
  readonly secrets?: Readonly<Record<string, secretsmanager.ISecret>> | undefined;
  /** Secrets that it may read and learns of in some other way. @default - none */
  readonly reads?: readonly secretsmanager.ISecret[] | undefined;
  /** Parts of the AWS SDK that it uses beyond what its secrets and its database need. @default - none */
  readonly sdk?: readonly SdkPart[] | undefined;
  /** Folders that go into the bundle, by the name they have there. @default - none */
  readonly folders?: Readonly<Record<string, string>> | undefined;
  /** @default lambda.Architecture.ARM_64 */
  readonly architecture?: lambda.Architecture | undefined;
  /** @default logs.RetentionDays.ONE_MONTH */
  readonly logRetention?: logs.RetentionDays | undefined;
  /**
   * Whether requests are traced: `ACTIVE` begins traces, `PASS_THROUGH` goes on with the caller's. A tick that nobody
   * looks at is not worth a trace each minute.
   * @default lambda.Tracing.PASS_THROUGH
   */
  readonly tracing?: lambda.Tracing | undefined;
}

/** One of our handlers as a Lambda function, with what all of them have in common. */
export function handlerFunction(scope: Construct, id: string, props: HandlerFunctionProps): lambda.Function {
  const { database, reads = [], tracing = lambda.Tracing.PASS_THROUGH } = props;
  const secrets = { ...database?.secrets, ...props.secrets };
  const readable = [...Object.values(secrets), ...reads];
  const logGroup = new logs.LogGroup(scope, `${id}Logs`, {
    retention: props.logRetention ?? logs.RetentionDays.ONE_MONTH,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const fn = new lambda.Function(scope, id, {
    description: props.description,
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: props.architecture ?? lambda.Architecture.ARM_64,
    handler: 'index.handler',
    code: props.bundles.code(props.bundle, {
      sdk: [
        ...(readable.length > 0 ? (['secrets-manager'] as const) : []),
        ...(database?.sdk ?? []),
        ...(props.sdk ?? []),
      ],
      certificates: database?.certificates,
      folders: props.folders,
    }),
    timeout: props.timeout,
    memorySize: props.memory.toMebibytes(),
    environment: {
      LOG_LEVEL: 'info',
      NODE_OPTIONS,
      ...database?.environment,
      ...Object.fromEntries(Object.entries(secrets).map(([name, { secretArn }]) => [name, secretArn])),
      ...props.environment,
    },
    logGroup,
    role: functionRole(scope, `${id}Role`, { logGroup, inVpc: database?.place !== undefined, tracing }),
    ...database?.place,
  });
  // Through the L1: the prop would allow X-Ray once more, in a statement without a reason.
  const resource = fn.node.defaultChild as lambda.CfnFunction;
  resource.tracingConfig = { mode: tracing };
  acknowledge(fn, {
    'Serverless-LambdaDLQ':
      'Who calls it waits for its answer. Those that are called without waiting have a destination for failures, which says what went wrong as well.',
    ...(tracing !== lambda.Tracing.ACTIVE && {
      'Serverless-LambdaTracing':
        'It is called by a schedule or a deploy, and a trace each minute that nobody looks at costs money. It goes on with a trace that a caller began.',
    }),
  });
  for (const secret of readable) secret.grantRead(fn);
  database?.grant(fn);
  if (database?.place !== undefined) denyAttachingToCode(fn);
  return fn;
}
