import type { Log } from '../queue/context.ts';
import type { Emit, QueueEvent } from '../queue/events.ts';
import { traceIdOf } from '../queue/trace.ts';
import { metricsEnv, readEnv } from './env.ts';
import { toStdout } from './log.ts';

/** How loud an event is. What happens for every job or poll is for debugging; what somebody should look at warns. */
const LEVELS: Readonly<Record<QueueEvent['name'], keyof Log>> = {
  'job.claimed': 'debug',
  'job.completed': 'debug',
  'job.retried': 'warn',
  'job.buried': 'error',
  'job.released': 'info',
  'job.cancelled': 'info',
  'job.overtaken': 'warn',
  'job.on_dead_refused': 'error',
  'job.reaped': 'warn',
  'schedule.fired': 'info',
  'schedule.passed': 'info',
  'schedule.failed': 'error',
  'claim.made': 'debug',
  'database.failed': 'warn',
  'run.last_claimed': 'debug',
  'run.drained': 'info',
};

/** Writes the engine's events to the log, the event's name as message, with the words that `ctx.log` has for the same. */
export function loggedEvents(log: Log): Emit {
  return ({ name, ...fields }) => log[LEVELS[name]](name, 'id' in fields ? ofJob(fields) : snakeCased(fields));
}

interface OfJob {
  readonly id: string;
  readonly requestId?: string | null;
  readonly traceparent?: string | null;
}

/** Of a job that no request put in, the two words are left out. */
function ofJob({ id, requestId, traceparent, ...fields }: OfJob): Record<string, unknown> {
  return {
    job_id: id,
    ...snakeCased(fields),
    request_id: requestId ?? undefined,
    trace_id: traceIdOf(traceparent ?? null),
  };
}

/** Fields as logs name them: `durationMs` is `duration_ms` there. */
export function snakeCased(fields: object): Record<string, unknown> {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snake(name), value]));
}

type Unit = 'Count' | 'Seconds';

/** What functions publish, each name one series in CloudWatch. */
export type PublishedMetric =
  | 'OldestDueAge'
  | 'JobsPending'
  | 'JobsDead'
  | 'JobsReaped'
  | 'KindsUnclaimed'
  | 'XminAge'
  | 'TicksStarted'
  | 'JobsCompleted'
  | 'JobsRetried'
  | 'JobsBuried';

/** Values with their units. */
export type Metrics = Partial<Record<PublishedMetric, readonly [value: number, unit: Unit]>>;

/**
 * Writes a line that CloudWatch turns into metrics (embedded metric format), by the queue that the function is of. Each
 * series is paid for by the month: ten names in all, one dimension, and never a kind.
 */
export function putMetrics({ functionName }: { readonly functionName: string }, metrics: Readonly<Metrics>): void {
  const { JOB_QUEUE: jobQueue = functionName } = readEnv(metricsEnv);
  const now = new Date();
  const entries = Object.entries(metrics);
  const declared = entries.map(([Name, [, Unit]]) => ({ Name, Unit }));
  toStdout(
    JSON.stringify({
      timestamp: now.toISOString(),
      level: 'info',
      message: 'metrics',
      _aws: {
        Timestamp: now.getTime(),
        CloudWatchMetrics: [{ Namespace: 'Millrace', Dimensions: [['JobQueue']], Metrics: declared }],
      },
      JobQueue: jobQueue,
      // No dimension: for whoever searches the log.
      FunctionName: functionName,
      ...Object.fromEntries(entries.map(([name, [value]]) => [name, value])),
    }),
  );
}
