import { type Duration, Size, SizeRoundingBehavior } from 'aws-cdk-lib';
import type { Contracts } from '../../functions/queue/contract.ts';
import type { Pickup, WorkerProps } from '../job-queue-props.ts';
import { whole } from '../settings.ts';
import { checkWorkers, DEFAULT_QUEUE, DEFAULT_WORKER } from './check-workers.ts';
import { workTimeout } from './work-timeout.ts';

/** One worker function, as it will be. */
export interface WorkerPlan {
  readonly name: string;
  /** Construct id: `Work` for the default worker, `WorkReports` for `reports`. */
  readonly id: string;
  /** Queues that it serves. */
  readonly queues: readonly string[];
  /** The only worker, with no queue beyond those of the contracts: these are in its bundle, so it need not be told. */
  readonly alone: boolean;
  readonly memory: Size;
  readonly timeout: Duration;
  readonly concurrency: number;
  readonly transactions: number;
  /** Slots: how many of it start each minute. */
  readonly max: number;
  readonly pickup: Pickup;
}

/**
 * Which worker serves which queues: each queue has exactly one, and `default`, the first, takes those that no other names.
 * @throws Error that names the prop which contradicts the contracts, another worker, or a bound
 */
export function planWorkers(
  workers: Readonly<Record<string, WorkerProps>>,
  contracts: Contracts,
  pickup: Pickup,
): [WorkerPlan, ...WorkerPlan[]] {
  const { [DEFAULT_WORKER]: main = {}, ...others } = workers;
  checkWorkers(main, others);
  const taken = new Set(Object.values(others).flatMap(({ queues = [] }) => queues));
  const known = [DEFAULT_QUEUE, ...Object.values(contracts).map(({ queue }) => queue), ...(main.queues ?? [])];
  const rest = [...new Set(known)].filter((queue) => !taken.has(queue));
  const alone = taken.size === 0 && main.queues === undefined;
  return [
    { ...plan(DEFAULT_WORKER, { ...main, queues: rest }, contracts, pickup), id: 'Work', alone },
    ...Object.entries(others).map(([name, props]) => plan(name, props, contracts, pickup)),
  ];
}

function plan(name: string, props: WorkerProps, contracts: Contracts, pickup: Pickup): WorkerPlan {
  const { queues = [], memory = Size.mebibytes(256), concurrency = 10, transactions = 2, max = 1 } = props;
  const prop = (own: keyof WorkerProps) => `workers.${name}.${own}`;
  const kinds = Object.entries(contracts).filter(([, { queue }]) => queues.includes(queue));
  whole(`${prop('memory')} (MiB)`, memory.toMebibytes({ rounding: SizeRoundingBehavior.NONE }), 128, 10_240);
  return {
    name,
    id: `Work${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    queues,
    alone: false,
    memory,
    timeout: workTimeout(prop('timeout'), Object.fromEntries(kinds), props.timeout),
    concurrency: whole(prop('concurrency'), concurrency, 1, 1000),
    transactions: whole(prop('transactions'), transactions, 0, 100),
    max: whole(prop('max'), max, 1, 100),
    pickup,
  };
}
