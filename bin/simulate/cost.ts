import prices from '../../test/stack/prices.json' with { type: 'json' };
import type { Simulated } from './simulate.ts';
import type { SqsSimulated } from './sqs.ts';

const { perUse, hoursAMonth } = prices;

/** Bytes that CloudWatch Logs takes for one run: platform lines, a summary, metrics. */
export const LOG_BYTES_A_RUN = 1500;
/** The same for an invocation that logs nothing of its own: three platform lines. */
const LOG_BYTES_AN_INVOCATION = 500;
/** Seconds and MiB of the function that takes a request to put a job in. */
const ENQUEUE = { seconds: 0.015, mebibytes: 256 };

export interface Dollars {
  /** Lambda: GB-seconds, invocations, and the schedules that start them; what it writes to the log. */
  readonly compute: number;
  /** SQS: its requests. */
  readonly queue: number;
}

/** Dollars of the time that was simulated. */
export function costOf({ workers, reaper, fleet }: Simulated): Dollars {
  const starts = workers.counts.invocations + reaper.ticks;
  const scheduled = fleet.counts.ticks + reaper.ticks;
  const compute =
    (workers.gibibyteSeconds + reaper.gibibyteSeconds) * perUse.lambdaArm64GigabyteSecond.usd +
    starts * perUse.lambdaRequest.usd +
    scheduled * perUse.schedulerInvocation.usd +
    gigabytes(starts * LOG_BYTES_A_RUN) * perUse.logsGigabyte.usd;
  return { compute, queue: 0 };
}

export function costOfSqs({ lambda, requests }: SqsSimulated): Dollars {
  const { invocations } = lambda.counts;
  const compute =
    lambda.gibibyteSeconds * perUse.lambdaArm64GigabyteSecond.usd +
    invocations * perUse.lambdaRequest.usd +
    gigabytes(invocations * LOG_BYTES_AN_INVOCATION) * perUse.logsGigabyte.usd;
  return { compute, queue: requests * perUse.sqsRequest.usd };
}

/** Dollars for a million jobs that come in by HTTP; by SQL and TypeScript they cost none. */
export function costOfMillionRequests(): number {
  const seconds = ENQUEUE.seconds * (ENQUEUE.mebibytes / 1024);
  return (
    1_000_000 *
    (perUse.apiGatewayRequest.usd + perUse.lambdaRequest.usd + seconds * perUse.lambdaArm64GigabyteSecond.usd)
  );
}

export function total({ compute, queue }: Dollars): number {
  return compute + queue;
}

/** Of so many seconds what a month is. */
export function aMonth(seconds: number): number {
  return (hoursAMonth * 3600) / seconds;
}

function gigabytes(bytes: number): number {
  return bytes / 1e9;
}
