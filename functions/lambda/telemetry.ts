import type { Log } from '../queue/context.ts';
import type { Emit, QueueEvent } from '../queue/events.ts';
import { traceIdOf } from '../queue/trace.ts';
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
  'job.reaped': 'warn',
  'claim.made': 'debug',
  'database.failed': 'warn',
  'run.drained': 'info',
};

/** Writes the engine's events to the log, the event's name as message, with the words that `ctx.log` has for the same. */
export function loggedEvents(log: Log): Emit {
  return ({ name, ...fields }) => log[LEVELS[name]](name, 'id' in fields ? ofJob(fields) : snakeCased(fields));
}

type OfJob = Pick<Extract<QueueEvent, { id: string }>, 'id' | 'requestId' | 'traceparent'>;

/** Of a job that no request put in, the two words are left out. */
function ofJob({ id, requestId, traceparent, ...fields }: OfJob): Record<string, unknown> {
  return { job_id: id, ...snakeCased(fields), request_id: requestId ?? undefined, trace_id: traceIdOf(traceparent) };
}

/** Fields as logs name them: `durationMs` is `duration_ms` there. */
export function snakeCased(fields: object): Record<string, unknown> {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snake(name), value]));
}

type Unit = 'Count' | 'Seconds';

/**
 * Writes a line that CloudWatch turns into metrics (embedded metric format), by function. Each series is paid for by the
 * month: ten names in all, and never a kind as dimension.
 */
export function putMetrics(
  functionName: string,
  metrics: Readonly<Record<string, readonly [value: number, unit: Unit]>>,
): void {
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
        CloudWatchMetrics: [{ Namespace: 'Millrace', Dimensions: [['FunctionName']], Metrics: declared }],
      },
      FunctionName: functionName,
      ...Object.fromEntries(entries.map(([name, [value]]) => [name, value])),
    }),
  );
}
