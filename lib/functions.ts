import { extname, join } from 'node:path';
import { Duration, Size } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { Bundles } from './bundles.ts';
import { type DatabaseAccess, type HandlerFunctionProps, handlerFunction } from './handler-function.ts';
import type { JobQueueProps } from './job-queue.ts';
import { MIGRATION_TIMEOUT } from './migration.ts';
import { LINGER_SECONDS, settingsOf } from './settings.ts';
import { workTimeout } from './work-timeout.ts';

/** The functions of a queue, by what they do. */
export interface JobQueueFunctions {
  readonly authorize: lambda.Function;
  readonly enqueue: lambda.Function;
  readonly jobsRead: lambda.Function;
  readonly manage: lambda.Function;
  readonly ready: lambda.Function;
  readonly metrics: lambda.Function;
  readonly openapi: lambda.Function;
  readonly health: lambda.Function;
  readonly fallback: lambda.Function;
  readonly work: lambda.Function;
  readonly reap: lambda.Function;
  readonly migrate: lambda.Function;
}

const ROOT = join(import.meta.dirname, '..');

/** Folders under functions/ that have a handler. */
const HANDLERS = [
  'authorize',
  'enqueue',
  'jobs-read',
  'manage',
  'ready',
  'metrics',
  'openapi',
  'health',
  'fallback',
  'work',
  'reap',
  'migrate',
] as const;
type Handler = (typeof HANDLERS)[number];

/** A connect (5 s) and a statement (10 s) may run into their limits, and the caller still gets an answer. */
const REQUEST_TIMEOUT = Duration.seconds(20);
/** One that waits for a job's end (`?wait=20`) needs that much longer; the gateway gives up after 30 s. */
const WAITING_TIMEOUT = Duration.seconds(29);
/** Three tries to read the secret, of 3 s each. */
const AUTHORIZE_TIMEOUT = Duration.seconds(10);

/** @throws Error that names a prop which the functions could not work with */
export function createFunctions(
  scope: Construct,
  props: JobQueueProps,
  { database, tokens }: { database: DatabaseAccess; tokens: secretsmanager.ISecret },
): JobQueueFunctions {
  const bundles = new Bundles(handlerEntries(), {
    '#contracts': props.contractsEntry,
    '#processors': props.processorsEntry,
  });
  const create = (id: string, bundle: Handler, own: Omit<HandlerFunctionProps, 'bundles' | 'bundle'>) =>
    handlerFunction(scope, id, { bundles, bundle, ...own });

  const settings = settingsOf(props);
  const request = { timeout: REQUEST_TIMEOUT, memory: Size.mebibytes(512), database };
  const light = { timeout: Duration.seconds(5), memory: Size.mebibytes(256) };
  return {
    authorize: create('Authorize', 'authorize', {
      description: 'Tells whose token a request carries',
      timeout: AUTHORIZE_TIMEOUT,
      memory: Size.mebibytes(512),
      secrets: { TOKENS_SECRET_ARN: tokens },
    }),
    enqueue: create('Enqueue', 'enqueue', {
      ...request,
      description: 'Puts a job in',
      environment: settings.enqueue,
    }),
    jobsRead: create('JobsRead', 'jobs-read', { ...request, timeout: WAITING_TIMEOUT, description: 'Looks jobs up' }),
    manage: create('Manage', 'manage', { ...request, description: 'Cancels, redrives and erases jobs; pauses' }),
    ready: create('Ready', 'ready', { ...request, description: 'Tells whether the queue can work' }),
    metrics: create('Metrics', 'metrics', { ...request, description: 'Counts and ages for Prometheus' }),
    openapi: create('OpenApi', 'openapi', { ...light, description: 'Describes the API' }),
    health: create('Health', 'health', { ...light, description: 'Tells that the API answers' }),
    fallback: create('Fallback', 'fallback', { ...light, description: 'Answers what no route fits' }),
    work: create('Work', 'work', {
      description: 'Claims and processes jobs until its time is up',
      timeout: workTimeout(props.contracts, LINGER_SECONDS, props.workerTimeout),
      memory: props.workerMemory ?? Size.mebibytes(512),
      database,
      environment: settings.work,
    }),
    reap: create('Reap', 'reap', {
      description: 'Takes back jobs whose lease ran out, and drops what retention is over for',
      timeout: Duration.seconds(60),
      memory: Size.mebibytes(256),
      database,
      environment: settings.reap,
    }),
    migrate: create('Migrate', 'migrate', {
      description: 'Brings the database to the schema of this release',
      timeout: MIGRATION_TIMEOUT,
      memory: Size.mebibytes(256),
      database,
      folders: { migrations: join(ROOT, 'migrations') },
    }),
  };
}

/** The handlers' modules by the folders they are in. They end in `.ts` in the repository, in `.js` in the package, as this one. */
function handlerEntries(): Record<Handler, string> {
  const file = `handler${extname(import.meta.filename)}`;
  const entries = HANDLERS.map((directory) => [directory, join(ROOT, 'functions', directory, file)]);
  return Object.fromEntries(entries) as Record<Handler, string>;
}
