import { extname, join } from 'node:path';
import { Duration, Size } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { Bundles } from './bundles.ts';
import { type DatabaseAccess, type HandlerFunctionProps, handlerFunction } from './handler-function.ts';
import type { JobQueueProps } from './job-queue.ts';
import { MIGRATION_TIMEOUT } from './migration.ts';
import { workTimeout } from './work-timeout.ts';

/** The functions of a queue, by what they do. */
export interface JobQueueFunctions {
  readonly enqueue: lambda.Function;
  readonly jobsRead: lambda.Function;
  readonly manage: lambda.Function;
  readonly ready: lambda.Function;
  readonly metrics: lambda.Function;
  readonly health: lambda.Function;
  readonly fallback: lambda.Function;
  readonly work: lambda.Function;
  readonly reap: lambda.Function;
  readonly migrate: lambda.Function;
}

const ROOT = join(import.meta.dirname, '..');

/** Folders under functions/ that have a handler. */
const HANDLERS = [
  'enqueue',
  'jobs-read',
  'manage',
  'ready',
  'metrics',
  'health',
  'fallback',
  'work',
  'reap',
  'migrate',
] as const;
type Handler = (typeof HANDLERS)[number];

/** Seconds for which a worker that finds nothing goes on looking: until the next one starts. */
const LINGER_SECONDS = 60;

/** A connect (5 s) and a statement (10 s) may run into their limits, and the caller still gets an answer. */
const REQUEST_TIMEOUT = Duration.seconds(20);

export function createFunctions(scope: Construct, props: JobQueueProps, database: DatabaseAccess): JobQueueFunctions {
  const bundles = new Bundles(handlerEntries(), {
    '#contracts': props.contractsEntry,
    '#processors': props.processorsEntry,
  });
  const create = (id: string, bundle: Handler, own: Omit<HandlerFunctionProps, 'bundles' | 'bundle'>) =>
    handlerFunction(scope, id, { bundles, bundle, ...own });

  const request = { timeout: REQUEST_TIMEOUT, memory: Size.mebibytes(512), database };
  const light = { timeout: Duration.seconds(5), memory: Size.mebibytes(256) };
  return {
    enqueue: create('Enqueue', 'enqueue', {
      ...request,
      description: 'Puts a job in',
      environment: {
        PAYLOAD_MAX_BYTES: whole(
          'maxPayload (bytes)',
          (props.maxPayload ?? Size.kibibytes(256)).toBytes(),
          1,
          4_194_304,
        ),
      },
    }),
    jobsRead: create('JobsRead', 'jobs-read', { ...request, description: 'Looks jobs up' }),
    manage: create('Manage', 'manage', { ...request, description: 'Cancels and redrives jobs' }),
    ready: create('Ready', 'ready', { ...request, description: 'Tells whether the queue can work' }),
    metrics: create('Metrics', 'metrics', { ...request, description: 'Counts and ages for Prometheus' }),
    health: create('Health', 'health', { ...light, description: 'Tells that the API answers' }),
    fallback: create('Fallback', 'fallback', { ...light, description: 'Answers what no route fits' }),
    work: create('Work', 'work', {
      description: 'Claims and processes jobs until its time is up',
      timeout: workTimeout(props.contracts, LINGER_SECONDS, props.workerTimeout),
      memory: props.workerMemory ?? Size.mebibytes(512),
      database,
      environment: {
        WORKER_CONCURRENCY: whole('workerConcurrency', props.workerConcurrency ?? 10, 1, 1000),
        WORKER_TRANSACTIONS: whole('workerTransactions', props.workerTransactions ?? 2, 0, 100),
        WORKER_LINGER_SECONDS: String(LINGER_SECONDS),
      },
    }),
    reap: create('Reap', 'reap', {
      description: 'Takes back jobs whose lease ran out, and drops what retention is over for',
      timeout: Duration.seconds(60),
      memory: Size.mebibytes(256),
      database,
      environment: {
        RETENTION_DAYS: whole('retention (days)', (props.retention ?? Duration.days(7)).toDays(), 1, 3650),
        DEAD_RETENTION_DAYS: whole(
          'deadRetention (days)',
          (props.deadRetention ?? Duration.days(30)).toDays(),
          1,
          3650,
        ),
      },
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

/** A setting as the functions read it: they refuse what lies outside these bounds, so a deploy should not get that far. */
function whole(name: string, value: number, min: number, max: number): string {
  if (Number.isInteger(value) && value >= min && value <= max) return String(value);
  throw new Error(`${name} must be a whole number from ${min} to ${max}, not ${value}`);
}
