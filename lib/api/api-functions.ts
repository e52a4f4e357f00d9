import { Duration, Size } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import type { DatabaseRoles } from '../database/database-access.ts';
import type { MakeFunction } from '../functions/functions.ts';
import { secretsVariable } from '../functions/secrets-variable.ts';
import type { JobQueueProps } from '../job-queue-props.ts';
import { settingsOf } from '../settings.ts';
import { bytesOfSecrets } from '../workers/check-variables.ts';
import { grantWake, type Workers, wakeFunctions } from '../workers/workers.ts';
import { authEnvironment } from './auth.ts';

/** What answers the requests of the API, by what they do. */
export interface ApiFunctions {
  /** Tells whose token a request carries. @default - none unless `auth` is 'token' */
  readonly authorize?: lambda.Function;
  readonly enqueue: lambda.Function;
  readonly jobsRead: lambda.Function;
  readonly manage: lambda.Function;
  readonly ready: lambda.Function;
  readonly metrics: lambda.Function;
  readonly openapi: lambda.Function;
  readonly health: lambda.Function;
  /** Answers whatever no route fits: 404, or 405 with the methods that do. */
  readonly fallback: lambda.Function;
}

/** A connect (5 s) and a statement (10 s) may run into their limits, and the caller still gets an answer. */
const REQUEST_TIMEOUT = Duration.seconds(20);
/** One that waits for a job's end (`?wait=20`) needs that much longer; the gateway gives up after 30 s. */
const WAITING_TIMEOUT = Duration.seconds(29);
/** Three tries to read the secret, of 3 s each. */
const AUTHORIZE_TIMEOUT = Duration.seconds(10);

export interface ApiFunctionParts {
  readonly roles: DatabaseRoles;
  readonly workers: Workers;
  /** The tokens that open the API. @default - none, and no authorizer */
  readonly tokens?: secretsmanager.ISecret | undefined;
}

/** @throws Error that names a prop which the functions could not work with */
export function apiFunctions(
  scope: Construct,
  make: MakeFunction,
  props: JobQueueProps,
  { roles, workers, tokens }: ApiFunctionParts,
): ApiFunctions {
  const tracing = lambda.Tracing.ACTIVE;
  const request = { timeout: REQUEST_TIMEOUT, memory: Size.mebibytes(512), tracing };
  const light = { timeout: Duration.seconds(5), memory: Size.mebibytes(256), tracing };
  const auth = authEnvironment(props.auth ?? 'token');
  const reading = { ...request, database: roles.of('reader'), environment: auth };
  const wakes = wakeSettings(scope, props, workers);
  const { contractSecrets = {} } = props;
  const sealing = {
    reads: Object.values(contractSecrets),
    environment: secretsVariable(scope, 'CONTRACT_SECRETS', contractSecrets),
  };
  const functions = {
    ...(tokens && {
      authorize: make('Authorize', 'authorize', {
        description: 'Tells whose token a request carries',
        timeout: AUTHORIZE_TIMEOUT,
        memory: Size.mebibytes(512),
        secrets: { TOKENS_SECRET_ARN: tokens },
        tracing,
      }),
    }),
    enqueue: make('Enqueue', 'enqueue', {
      ...request,
      description: 'Puts a job in',
      database: roles.of('producer'),
      environment: { ...auth, ...settingsOf(props).enqueue, ...wakes.environment, ...sealing.environment },
      reads: sealing.reads,
      sdk: wakes.sdk,
    }),
    jobsRead: make('JobsRead', 'jobs-read', {
      ...reading,
      timeout: WAITING_TIMEOUT,
      description: 'Looks jobs and schedules up',
      environment: { ...auth, ...sealing.environment },
      reads: sealing.reads,
    }),
    manage: make('Manage', 'manage', {
      ...request,
      description: 'Cancels, redrives and erases jobs; pauses; fires schedules',
      database: roles.of('operator'),
      environment: { ...auth, ...wakes.environment },
      sdk: wakes.sdk,
    }),
    ready: make('Ready', 'ready', { ...reading, description: 'Tells whether the queue can work' }),
    metrics: make('Metrics', 'metrics', { ...reading, description: 'Counts and ages for Prometheus' }),
    openapi: make('OpenApi', 'openapi', { ...light, description: 'Describes the API' }),
    health: make('Health', 'health', { ...light, description: 'Tells that the API answers' }),
    fallback: make('Fallback', 'fallback', { ...light, description: 'Answers what no route fits' }),
  };
  if (props.pickup === 'instant') for (const fn of [functions.enqueue, functions.manage]) grantWake(workers, fn);
  return functions;
}

/** Which worker to start when a job comes in and none is there. */
function wakeSettings(scope: Construct, { pickup, contractSecrets = {} }: JobQueueProps, workers: Workers) {
  if (pickup !== 'instant') return { environment: {}, sdk: [] };
  return {
    environment: { WAKE_FUNCTIONS: wakeFunctions(scope, workers, bytesOfSecrets(contractSecrets)) },
    sdk: ['lambda' as const],
  };
}
