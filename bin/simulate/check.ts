import { seeded } from '../../local/demo/random.ts';
import { type Ground, prepareGround } from './check/ground.ts';
import { JOB_SPREAD, type Measured, measure, type RealLoad } from './check/measure.ts';
import { type Profile, profileOf } from './profile.ts';
import { type Simulated, simulate } from './simulate.ts';
import { type Trace, traceOf } from './trace.ts';

/** By how much a simulated rate or time may differ from the real one. */
const TOLERANCE = 0.2;

/** One figure, both ways. */
export interface Compared {
  readonly load: string;
  readonly what: string;
  readonly real: number;
  readonly simulated: number;
  readonly within: boolean;
}

interface Load extends RealLoad {
  readonly name: string;
  readonly figures: readonly { readonly what: string; real(of: Measured): number; simulated(of: Simulated): number }[];
}

/**
 * Runs the same loads on real workers with a Postgres of its own, and on the virtual clock. What a statement and a job cost on this
 * machine is measured first, by a load that is none of those. Resolves whether all is within a fifth.
 */
export async function check({ json }: { readonly json: boolean }): Promise<boolean> {
  const ground = await prepareGround();
  try {
    const costs = await calibrate(ground);
    const compared: Compared[] = [];
    for (const load of loads()) compared.push(...(await compare(ground, load, costs)));
    console.log(json ? JSON.stringify({ costs, compared }, null, 2) : lines(costs, compared));
    return compared.every(({ within }) => within);
  } finally {
    await ground.close();
  }
}

type Costs = Partial<Profile>;

/** Enough that one slow commit does not matter. */
const JOBS = 1500;

/** What this machine takes for what the others are made of: statements by what they bring, and the worker's own work for a job. */
async function calibrate(ground: Ground): Promise<Costs> {
  const burst: RealLoad = {
    arrivals: Array(JOBS).fill(0.5),
    jobMs: 5,
    concurrency: 10,
    starts: [{ at: 0, slot: 0, woken: false }],
    lingerSeconds: Infinity,
    seconds: 6,
  };
  // The first time, everything is loaded and planned.
  await measure(ground, burst);
  const { watched, cpuSeconds } = await measure(ground, burst);
  const claim = line(watched.of('claim'));
  const settle = line(watched.of('settle'));
  const statements = watched.timed.length;
  return {
    memory: 1769,
    'round-trip-ms': 0,
    'start-cpu-ms': 20,
    'claim-ms': claim.base,
    'claimed-ms': claim.each,
    'settle-ms': settle.base,
    'settled-ms': settle.each,
    'other-ms': mean(watched.of('look', 'take', 'presence', 'marks', 'watch').map(({ ms }) => ms)),
    // What is not in the time of statements: half of it is taken to be theirs.
    'statement-cpu-ms': (500 * cpuSeconds) / statements,
    'job-cpu-ms': (500 * cpuSeconds) / JOBS,
    'database-cores': 16,
  };
}

const ONE: RealLoad['starts'] = [{ at: 0, slot: 0, woken: false }];

function loads(): Load[] {
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

async function compare(ground: Ground, load: Load, costs: Costs): Promise<Compared[]> {
  const measured = await measure(ground, load);
  const { concurrency, starts, seconds, jobMs } = load;
  const simulated = simulate({
    trace: recordedAs(load.arrivals),
    profile: {
      ...profileOf(load.lingerSeconds === Infinity ? 'second' : 'minute'),
      ...costs,
      concurrency,
      slots: starts.length,
      timeout: seconds + 60,
      'job-ms': jobMs,
      'job-spread': JOB_SPREAD,
      'cold-ms': 0,
    },
    seconds,
    seed: 1,
    starts,
  });
  return load.figures.map(({ what, real, simulated: ofSimulated }) => {
    const both = { real: real(measured), simulated: ofSimulated(simulated) };
    return { load: load.name, what, ...both, within: Math.abs(both.simulated / both.real - 1) <= TOLERANCE };
  });
}

function recordedAs(arrivals: readonly number[]): Trace {
  return {
    ...traceOf('burst:1'),
    arrivals: () => {
      let at = 0;
      return () => arrivals[at++] ?? Infinity;
    },
  };
}

function steady(rate: number, seconds: number): number[] {
  const next = traceOf(`poisson:${rate}`).arrivals(seeded(7));
  const times: number[] = [];
  for (let at = next(); at < seconds; at = next()) times.push(1 + at);
  return times.filter((at) => at < seconds);
}

/** What a statement takes without rows, and for each: the line with the least squares. */
function line(all: readonly { readonly rows: number; readonly ms: number }[]): { base: number; each: number } {
  // Without the slowest: a checkpoint, a garbage collection.
  const timed = all.toSorted((one, other) => one.ms - other.ms).slice(0, Math.ceil(all.length * 0.97));
  const rows = mean(timed.map((one) => one.rows));
  const ms = mean(timed.map((one) => one.ms));
  const spread = timed.reduce((sum, one) => sum + (one.rows - rows) ** 2, 0);
  const each = spread === 0 ? 0 : timed.reduce((sum, one) => sum + (one.rows - rows) * (one.ms - ms), 0) / spread;
  return { base: Math.max(0.1, ms - Math.max(0, each) * rows), each: Math.max(0, each) };
}

function mean(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}

function share(numbers: readonly number[], part: number): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(part * numbers.length)] ?? Number.NaN;
}

function last(numbers: readonly number[]): number {
  return Math.max(...numbers);
}

function lines(costs: Costs, compared: readonly Compared[]): string {
  const measured = Object.entries(costs).map(([name, value]) => `${name} ${Number(value).toFixed(3)}`);
  return [
    `measured on this machine: ${measured.join(', ')}`,
    ...compared.map(
      ({ load, what, real, simulated, within }) =>
        `${within ? 'ok  ' : 'OFF '} ${load}: ${what}: real ${real.toFixed(2)}, simulated ${simulated.toFixed(2)} (${((simulated / real - 1) * 100).toFixed(0)}%)`,
    ),
  ].join('\n');
}
