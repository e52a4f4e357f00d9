import { seeded } from '../../../local/demo/random.ts';
import type { Simulated } from '../simulate.ts';
import { traceOf } from '../trace.ts';
import type { Measured, RealLoad } from './measure.ts';

/** A load, and the figures that are compared. */
export interface Load extends RealLoad {
  readonly name: string;
  readonly figures: readonly { readonly what: string; real(of: Measured): number; simulated(of: Simulated): number }[];
}

const ONE: RealLoad['starts'] = [{ at: 0, slot: 0, woken: false }];

export function loads(): Load[] {
  return [
    {
      name: '1,000 jobs of 20 ms, 10 at once',
      arrivals: Array(1000).fill(1),
      jobMs: 20,
      concurrency: 10,
      starts: ONE,
      lingerSeconds: Infinity,
      seconds: 5,
      figures: [
        {
          what: 'jobs/s',
          real: ({ endedAt }) => 1000 / (last(endedAt) - 1),
          simulated: ({ jobs }) => 1000 / jobs.total.most,
        },
        statementsAJob,
      ],
    },
    {
      name: '40 jobs/s of 20 ms, one run that lingers',
      arrivals: steady(40, 20),
      jobMs: 20,
      concurrency: 10,
      starts: ONE,
      lingerSeconds: Infinity,
      seconds: 22,
      figures: [
        {
          what: 'enqueue to start, p50, ms',
          real: ({ waitedMs }) => share(waitedMs, 0.5),
          simulated: ({ jobs }) => 1000 * jobs.pickup.within(0.5),
        },
        {
          what: 'enqueue to start, p95, ms',
          real: ({ waitedMs }) => share(waitedMs, 0.95),
          simulated: ({ jobs }) => 1000 * jobs.pickup.within(0.95),
        },
        statementsAJob,
      ],
    },
    {
      name: '600 jobs of 100 ms, three runs of 5 each that start one after the other',
      arrivals: Array(600).fill(0.5),
      jobMs: 100,
      concurrency: 5,
      starts: [0, 1, 2].map((slot) => ({ at: 1 + 2 * slot, slot, woken: false })),
      lingerSeconds: 1,
      seconds: 12,
      figures: [
        {
          what: 'seconds until all are done',
          real: ({ endedAt }) => last(endedAt) - 0.5,
          simulated: ({ jobs }) => jobs.total.most,
        },
        {
          what: 'enqueue to start, p50, ms',
          real: ({ waitedMs }) => share(waitedMs, 0.5),
          simulated: ({ jobs }) => 1000 * jobs.pickup.within(0.5),
        },
        statementsAJob,
      ],
    },
  ];
}

const statementsAJob = {
  what: 'statements a job',
  real: ({ watched, endedAt }: Measured) => watched.timed.length / endedAt.length,
  simulated: ({ database: { counts }, jobs }: Simulated) => {
    const { enqueue, wake, reaper, ...own } = counts;
    return Object.values(own).reduce((sum, count) => sum + count, 0) / jobs.counts.completed;
  },
};

function steady(rate: number, seconds: number): number[] {
  const next = traceOf(`poisson:${rate}`).arrivals(seeded(7));
  const times: number[] = [];
  for (let at = next(); at < seconds; at = next()) times.push(1 + at);
  return times.filter((at) => at < seconds);
}

function share(numbers: readonly number[], part: number): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(part * numbers.length)] ?? Number.NaN;
}

function last(numbers: readonly number[]): number {
  return Math.max(...numbers);
}
