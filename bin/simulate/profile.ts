import type { Pickup } from '../../functions/queue/pickup.ts';

/** A number that can be set by a flag of its name. */
interface Parameter {
  readonly value: number;
  readonly what: string;
}

/**
 * What a queue is simulated with. The first are the construct's defaults (test/bin/simulate.test.ts holds them equal). Of the
 * others, `docs/simulator.md` says where they are from.
 */
export const PARAMETERS = {
  slots: { value: 1, what: 'runs that start each minute: `workers.default.max`' },
  concurrency: { value: 10, what: 'jobs at once in a run' },
  memory: { value: 256, what: 'MiB of a worker' },
  timeout: { value: 120, what: "seconds that a run has: the worker's timeout" },
  transactions: { value: 2, what: 'connections of a run beside its own, for `ctx.transaction`' },
  'job-ms': { value: 100, what: 'how long a job takes, waiting included, in the middle' },
  'job-spread': { value: 0, what: 'sigma of the log-normal distribution of that; 0: all the same' },
  'job-timeout': { value: 30, what: "seconds: the kind's `timeoutSeconds`" },
  attempts: { value: 5, what: "the kind's `maxAttempts`" },
  fail: { value: 0, what: 'share of attempts that fail' },
  deaths: { value: 0, what: 'sudden deaths of a sandbox in an hour of running' },
  missed: { value: 0, what: 'share of ticks that never come' },
  doubled: { value: 0, what: 'share of ticks that come twice' },
  'cold-ms': { value: 600, what: 'start of a new sandbox, billed' },
  'warm-minutes': { value: 5, what: 'how long Lambda keeps a sandbox that has nothing to do' },
  'invoke-ms': { value: 60, what: 'from asking Lambda asynchronously until a warm function begins' },
  'start-cpu-ms': { value: 25, what: 'CPU of a run until it has connected, on a whole vCPU' },
  'statement-cpu-ms': { value: 0.1, what: "the worker's CPU for a statement, on a whole vCPU" },
  'job-cpu-ms': { value: 0.15, what: "the worker's CPU for a job beside its own code, on a whole vCPU" },
  'account-concurrency': { value: 1000, what: 'functions that the account runs at once' },
  'round-trip-ms': { value: 0.7, what: 'between function and database' },
  'database-cores': { value: 2, what: "the database's vCPUs" },
  'database-connections': { value: 79, what: 'what the database takes at once, less the reserve' },
  'enqueue-ms': { value: 0.27, what: "the database's CPU for putting one job in; 0.05 in batches of a hundred" },
  'claim-ms': { value: 0.6, what: 'the same for a claim' },
  'claimed-ms': { value: 0.03, what: 'and for each job that it brings' },
  'settle-ms': { value: 0.5, what: 'the same for settling' },
  'settled-ms': { value: 0.035, what: 'and for each job of it' },
  'other-ms': { value: 0.3, what: 'the same for any other statement' },
  'sqs-memory': { value: 256, what: 'SQS + Lambda: MiB of its function' },
  'sqs-batch': { value: 10, what: 'SQS + Lambda: records of a batch at most' },
  'sqs-window-ms': { value: 0, what: 'SQS + Lambda: batching window' },
  'sqs-receive-ms': { value: 20, what: 'SQS + Lambda: from sending a message until its function is invoked' },
  'sqs-pollers': { value: 2, what: 'SQS + Lambda: pollers of a quiet queue, each asking every 20 s' },
} as const satisfies Record<string, Parameter>;

export type ParameterName = keyof typeof PARAMETERS;
export type Profile = { readonly [Name in ParameterName]: number } & { readonly pickup: Pickup };

/** The construct with nothing said but `pickup`, and with what is given. */
export function profileOf(pickup: Pickup, given: Partial<Record<ParameterName, number>> = {}): Profile {
  const defaults = Object.fromEntries(Object.entries(PARAMETERS).map(([name, { value }]) => [name, value]));
  return { ...(defaults as Record<ParameterName, number>), ...given, pickup };
}

/** Lambda gives a function a whole vCPU at this much memory, and less in proportion. Its own documentation has the number. */
export const WHOLE_CPU_MEBIBYTES = 1769;

/** How much longer the CPU of a worker needs than a whole one. One thread has no use for more. */
export function slownessOf({ memory }: Pick<Profile, 'memory'>): number {
  return Math.max(1, WHOLE_CPU_MEBIBYTES / memory);
}
