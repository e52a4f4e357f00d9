import { extname, join } from 'node:path';
import { Annotations, Duration, Size } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { type ApiFunctions, apiFunctions } from '../api/api-functions.ts';
import { Bundles } from '../bundles/bundles.ts';
import type { Modules } from '../bundles/modules.ts';
import { platformOf } from '../bundles/native-modules.ts';
import type { DatabaseRoles } from '../database/database-access.ts';
import { MIGRATION_TIMEOUT } from '../database/migration.ts';
import type { JobQueueProps } from '../job-queue-props.ts';
import { settingsOf } from '../settings.ts';
import type { WorkerPlan } from '../workers/worker-plan.ts';
import { type Workers, workerFunctions } from '../workers/workers.ts';
import { type HandlerFunctionProps, handlerFunction } from './handler-function.ts';

/** The functions of a queue, by what they do; its other workers apart. */
export interface JobQueueFunctions extends Partial<ApiFunctions> {
  /** The worker `default`. */
  readonly work: lambda.Function;
  readonly reap: lambda.Function;
  /** @default - none with `migrations: 'external'` */
  readonly migrate?: lambda.Function;
  /** @default - none where the login is not ours to rotate */
  readonly rotate?: lambda.Function;
}

const ROOT = join(import.meta.dirname, '..', '..');

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
  'rotate',
] as const;
export type Handler = (typeof HANDLERS)[number];

/** Makes one function of the queue. */
export type MakeFunction = (id: string, bundle: Handler, own: OwnFunctionProps) => lambda.Function;
export type OwnFunctionProps = Omit<HandlerFunctionProps, 'bundles' | 'bundle' | 'architecture' | 'logRetention'>;

export interface FunctionParts {
  readonly modules: Modules;
  readonly roles: DatabaseRoles;
  readonly plans: readonly [WorkerPlan, ...WorkerPlan[]];
  /** The tokens that open the API. @default - none, and no authorizer */
  readonly tokens?: secretsmanager.ISecret | undefined;
  /** Value of the one dimension of what the queue measures. */
  readonly metricsName: string;
}

export interface MadeFunctions {
  readonly functions: JobQueueFunctions;
  /** Those behind the API. @default - there is none */
  readonly api: ApiFunctions | undefined;
  readonly workers: Workers;
  /** Every one of them, once. */
  readonly all: readonly lambda.Function[];
}

/** The functions that the props ask for, and no others. @throws Error that names a prop which they could not work with */
export function createFunctions(scope: Construct, props: JobQueueProps, parts: FunctionParts): MadeFunctions {
  const { roles, metricsName: JOB_QUEUE } = parts;
  const make = maker(scope, props, parts);
  const workers = workerFunctions(scope, make, props, parts);
  const api = props.api === false ? undefined : apiFunctions(scope, make, props, { ...parts, workers });
  const upkeep = { timeout: Duration.seconds(60), memory: Size.mebibytes(256) };
  const functions = {
    ...api,
    work: workers[0].fn,
    reap: make('Reap', 'reap', {
      ...upkeep,
      description: 'Takes back jobs whose lease ran out, and drops what retention is over for',
      database: roles.of('reaper'),
      environment: { ...settingsOf(props).reap, JOB_QUEUE },
    }),
    ...(props.migrations !== 'external' && {
      migrate: make('Migrate', 'migrate', {
        description: 'Brings the database to the schema of this release',
        timeout: MIGRATION_TIMEOUT,
        memory: Size.mebibytes(256),
        database: roles.of('admin'),
        folders: { migrations: join(ROOT, 'migrations') },
      }),
    }),
    ...(roles.login !== undefined && {
      rotate: make('Rotate', 'rotate', {
        ...upkeep,
        description: 'Gives the login of the functions a new password',
        database: roles.of('rotator'),
      }),
    }),
  };
  const all = new Set<lambda.Function>([...Object.values(functions), ...workers.map(({ fn }) => fn)]);
  return { functions, api, workers, all: [...all] };
}

function maker(scope: Construct, { advanced = {}, bundling }: JobQueueProps, { modules }: FunctionParts): MakeFunction {
  const { architecture = lambda.Architecture.ARM_64, logRetention } = advanced;
  const bundles = new Bundles({
    entries: handlerEntries(),
    ...modules,
    bundling,
    platform: platformOf(scope, architecture),
    warn: (message) => Annotations.of(scope).addWarningV2('millrace:bundling', message),
  });
  return (id, bundle, own) => handlerFunction(scope, id, { bundles, bundle, architecture, logRetention, ...own });
}

/** The handlers' modules by the folders they are in. They end in `.ts` in the repository, in `.js` in the package, as this one. */
function handlerEntries(): Record<Handler, string> {
  const file = `handler${extname(import.meta.filename)}`;
  const entries = HANDLERS.map((directory) => [directory, join(ROOT, 'functions', directory, file)]);
  return Object.fromEntries(entries) as Record<Handler, string>;
}
