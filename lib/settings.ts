import { Duration, Size } from 'aws-cdk-lib';
import type { JobQueueProps } from './job-queue-props.ts';

/**
 * What the props set in the environment of the functions that read it.
 * @throws Error that names a prop outside its bounds. They are the functions' own, so a deploy does not have to find out
 */
export function settingsOf(props: JobQueueProps) {
  const { retention = Duration.days(7), deadRetention = Duration.days(30), advanced = {} } = props;
  const { idempotencyRetention = Duration.days(1) } = props;
  const { maxPayload = Size.kibibytes(256) } = advanced;
  return {
    enqueue: { PAYLOAD_MAX_BYTES: text('advanced.maxPayload (bytes)', maxPayload.toBytes(), 1, 4_194_304) },
    reap: {
      RETENTION_DAYS: text('retention (days)', days(retention), 1, 3650),
      DEAD_RETENTION_DAYS: text('deadRetention (days)', days(deadRetention), 1, 3650),
      IDEMPOTENCY_RETENTION_DAYS: text('idempotencyRetention (days)', days(idempotencyRetention), 1, 3650),
    },
  };
}

/** @throws Error that names the prop, its bounds and what it is */
export function whole(prop: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${prop} must be a whole number from ${min} to ${max}, not ${value}`);
}

function text(prop: string, value: number, min: number, max: number): string {
  return String(whole(prop, value, min, max));
}

/** Half a day is refused by `whole`, which says so with the prop's name. */
function days(duration: Duration): number {
  return duration.toDays({ integral: false });
}
