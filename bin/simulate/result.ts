import { aMonth, costOf, costOfMillionRequests, costOfSqs, total } from './cost.ts';
import type { Histogram } from './histogram.ts';
import { type Simulated, type SimulationOptions, simulate } from './simulate.ts';
import { type SqsSimulated, simulateSqs } from './sqs.ts';

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly most: number;
}

/** What a simulation comes to, in numbers: what `--json` prints. Seconds, GiB-seconds, dollars. */
export type Result = ReturnType<typeof resultOf>;

/** `sqs`: the same jobs there, where that is known already. */
export function resultOf(options: SimulationOptions, sqs = simulateSqs(options)) {
  const done = simulate(options);
  const { seconds } = options;
  return {
    seconds,
    jobs: { ...done.jobs.counts, unfinished: done.jobs.unfinished },
    pickupSeconds: percentiles(done.jobs.pickup),
    totalSeconds: percentiles(done.jobs.total),
    workers: workersOf(done),
    statements: statementsOf(done),
    database: {
      cores: done.database.cpuSeconds / seconds,
      busiestCores: done.database.busiestCores,
      connections: done.database.mostConnections,
      connectionsWithTransactions: done.database.mostConnections * (1 + options.profile.transactions),
      refused: done.database.refused,
    },
    dollars: dollarsOf(total(costOf(done)), done.jobs.counts.completed, seconds),
    dollarsAMillionHttpRequests: costOfMillionRequests(),
    sqs: sqsOf(sqs, seconds),
  };
}

function workersOf({ workers, reaper, fleet, seconds }: Simulated) {
  return {
    ...workers.counts,
    ...fleet.counts,
    endings: fleet.endings,
    mean: workers.billedSeconds / seconds,
    most: workers.mostRunning,
    gibibyteSeconds: workers.gibibyteSeconds,
    reaperGibibyteSeconds: reaper.gibibyteSeconds,
  };
}

/** Those of producers are their own: what the queue's functions send is what it costs. */
function statementsOf({ database: { counts }, jobs, seconds }: Simulated) {
  const { enqueue, ...own } = counts;
  const sum = Object.values(own).reduce((total, count) => total + count, 0);
  return { ...counts, aSecond: sum / seconds, aJob: sum / jobs.counts.completed };
}

function sqsOf(sqs: SqsSimulated, seconds: number) {
  const { pickup, lambda, requests, completed } = sqs;
  return {
    completed,
    pickupSeconds: percentiles(pickup),
    ...lambda.counts,
    most: lambda.mostRunning,
    gibibyteSeconds: lambda.gibibyteSeconds,
    requests,
    dollars: dollarsOf(total(costOfSqs(sqs)), completed, seconds),
  };
}

function dollarsOf(dollars: number, completed: number, seconds: number) {
  return { ofThisTime: dollars, aMonth: dollars * aMonth(seconds), aMillion: (dollars / completed) * 1_000_000 };
}

function percentiles(histogram: Histogram): Percentiles {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => histogram.within(share)) as [number, number, number];
  return { p50, p95, p99, most: histogram.count === 0 ? Number.NaN : histogram.most };
}
