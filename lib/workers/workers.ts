import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { DatabaseRoles } from '../database/database-access.ts';
import type { MakeFunction } from '../functions/functions.ts';
import { WORK_NODE_OPTIONS } from '../functions/node-options.ts';
import { secretsVariable } from '../functions/secrets-variable.ts';
import type { JobQueueProps } from '../job-queue-props.ts';
import { DEFAULT_WORKER } from './check-workers.ts';
import type { Schedules } from './schedules.ts';
import type { WorkerPlan } from './worker-plan.ts';

/** A worker function, and what it was planned to be. */
export interface Worker {
  readonly plan: WorkerPlan;
  readonly fn: lambda.Function;
}
/** The worker `default` is the first. */
export type Workers = readonly [Worker, ...Worker[]];

export interface WorkerParts {
  readonly roles: DatabaseRoles;
  readonly plans: readonly [WorkerPlan, ...WorkerPlan[]];
  /** Value of the one dimension of what the queue measures. */
  readonly metricsName: string;
}

/** One function for each worker. What processors need is theirs alone: `environment`, `secrets`. */
export function workerFunctions(
  scope: Construct,
  make: MakeFunction,
  { environment = {}, ...props }: JobQueueProps,
  { roles, plans: [main, ...others], metricsName: JOB_QUEUE }: WorkerParts,
): Workers {
  const secrets = { ...props.secrets, ...props.contractSecrets };
  const worker = (plan: WorkerPlan): Worker => ({
    plan,
    fn: make(plan.id, 'work', {
      description: `Claims and processes jobs${plan.alone ? '' : ` of its queues (worker ${plan.name})`} until its time is up`,
      timeout: plan.timeout,
      memory: plan.memory,
      database: roles.of('worker'),
      reads: Object.values(secrets),
      environment: {
        ...environment,
        WORKER_CONCURRENCY: String(plan.concurrency),
        WORKER_TRANSACTIONS: String(plan.transactions),
        WORKER_PICKUP: plan.pickup,
        ...(!plan.alone && { WORKER_QUEUES: plan.queues.join(',') }),
        ...secretsVariable(scope, 'WORKER_SECRETS', secrets),
        NODE_OPTIONS: WORK_NODE_OPTIONS,
        JOB_QUEUE,
      },
    }),
  });
  return [worker(main), ...others.map(worker)];
}

/** Starts each worker each minute, once for each of its slots. Only slot 0 lingers. */
export function scheduleWorkers(scope: Construct, schedules: Schedules, workers: Workers): void {
  for (const { plan, fn } of workers) {
    schedules.target(fn);
    for (let slot = 0; slot < plan.max; slot += 1) {
      schedules.eachMinute(scope, `${plan.id}Schedule${slot === 0 ? '' : slot}`, fn, { slot });
    }
  }
}

/** How long the name of a function may be; a deploy makes it up. */
const FUNCTION_NAME_LENGTH = 64;
/** Of Lambda's 4,096 bytes for all variables of a function, what the others of an API function leave, with `contractSecrets`. */
const WAKE_BYTES = 3072;

/**
 * Which function to start for which queue: JSON, for the variable WAKE_FUNCTIONS. `*` is every queue that is not named.
 * @throws Error if that is more than the environment of a function has room for, beside `others` bytes
 */
export function wakeFunctions(scope: Construct, workers: Workers, others: number): string {
  const entries = workers.flatMap(({ plan, fn }): [queue: string, functionName: string][] =>
    plan.name === DEFAULT_WORKER ? [['*', fn.functionName]] : plan.queues.map((queue) => [queue, fn.functionName]),
  );
  // What is written of each is "queue":"name",
  const bytes = entries.reduce((sum, [queue]) => sum + queue.length + FUNCTION_NAME_LENGTH + 6, 2);
  if (bytes + others > WAKE_BYTES) {
    throw new Error(
      `workers must name few enough queues for the environment of a function that wakes them, as the API's with pickup 'instant': they take ${bytes} bytes there, of ${WAKE_BYTES - others}. Name fewer or shorter ones, or take another pickup.`,
    );
  }
  return Stack.of(scope).toJsonString(Object.fromEntries(entries));
}

/** Lets somebody start the workers. Not CDK's own grant: that allows every version of the functions as well. */
export function grantWake(workers: Workers, grantee: iam.IGrantable): iam.Grant {
  return iam.Grant.addToPrincipal({
    grantee,
    actions: ['lambda:InvokeFunction'],
    resourceArns: workers.map(({ fn }) => fn.functionArn),
  });
}
