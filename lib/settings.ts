import { Duration, Size } from 'aws-cdk-lib';
import type { JobQueueProps } from './job-queue.ts';
import { WORK_NODE_OPTIONS } from './node-options.ts';

/** Seconds for which a worker that finds nothing goes on looking: until the next one starts. */
export const LINGER_SECONDS = 60;

/**
 * What the props set in the environment of the functions that read it.
 * @throws Error that names a prop outside its bounds. They are the functions' own, so a deploy does not have to find out
 */
export function settingsOf(props: JobQueueProps) {
  const { maxPayload = Size.kibibytes(256), retention = Duration.days(7), deadRetention = Duration.days(30) } = props;
  const { idempotencyRetention = Duration.days(1) } = props;
  return {
    enqueue: { PAYLOAD_MAX_BYTES: whole('maxPayload (bytes)', maxPayload.toBytes(), 1, 4_194_304) },
    work: {
      WORKER_CONCURRENCY: whole('workerConcurrency', props.workerConcurrency ?? 10, 1, 1000),
      WORKER_TRANSACTIONS: whole('workerTransactions', props.workerTransactions ?? 2, 0, 100),
      WORKER_LINGER_SECONDS: String(LINGER_SECONDS),
      NODE_OPTIONS: WORK_NODE_OPTIONS,
    },
    reap: {
      RETENTION_DAYS: whole('retention (days)', retention.toDays(), 1, 3650),
      DEAD_RETENTION_DAYS: whole('deadRetention (days)', deadRetention.toDays(), 1, 3650),
      IDEMPOTENCY_RETENTION_DAYS: whole('idempotencyRetention (days)', idempotencyRetention.toDays(), 1, 3650),
    },
  };
}

function whole(name: string, value: number, min: number, max: number): string {
  if (Number.isInteger(value) && value >= min && value <= max) return String(value);
  throw new Error(`${name} must be a whole number from ${min} to ${max}, not ${value}`);
}
