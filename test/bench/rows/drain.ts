import { drained } from '../frame/drained.ts';
import { interleave } from '../frame/interleave.ts';
import { loaded } from '../frame/loaded.ts';
import type { Bench, Goal, Result, Row, Spread } from '../frame/row.ts';
import { systemsNamed } from '../systems/index.ts';
import type { System, Work } from '../systems/system.ts';

/** The measured figures, as the table names them. */
const COLUMNS = {
  jobsPerSecond: 'jobs/s',
  walBytesPerJob: 'WAL, bytes/job',
  commitsPerJob: 'commits/job',
  databaseCpuPerThousand: 'database CPU, s/1,000',
  workerCpuPerThousand: 'worker CPU, s/1,000',
  rssMegabytes: 'worker memory, MB',
} as const;

type Figure = keyof typeof COLUMNS;
type Drained = Readonly<Record<Figure, Spread>>;

export interface Load {
  readonly processes: number;
  readonly work: Work;
  /** By name: how many jobs. */
  readonly systems: Readonly<Record<string, number>>;
  /** Jobs at once in a process, the same for all. Default: as each is set. */
  readonly atOnce?: number;
  /** Beside the number in each payload. */
  readonly more?: object;
  /** What is measured in place of the system that has loaded the jobs: it by another way to its database, by the same name. */
  readonly through?: (system: System) => System;
  /** With `--quick` only those: the others are run in the same way by another row. Default all. */
  readonly quickly?: readonly string[];
  readonly goals?: readonly { readonly against: string; readonly atLeast: number }[];
}

/** Of each row, so that they share the loaded databases. */
const QUICK_JOBS = 400;

const NOTHING: Work = { kind: 'nothing' };

export const rows: readonly Row[] = [
  drainRow('drain-one-process', 'Jobs that do nothing, 100,000 of them, by one worker process.', {
    processes: 1,
    work: NOTHING,
    systems: best(100_000),
    goals: [
      { against: 'graphile-worker, best', atLeast: 1 },
      { against: 'pg-boss, best', atLeast: 1.3 },
      { against: 'raw SQL', atLeast: 0.85 },
    ],
  }),
  drainRow('drain-four-processes', 'The same by four worker processes at once.', {
    processes: 4,
    work: NOTHING,
    systems: best(100_000),
    quickly: ['Millrace'],
  }),
  drainRow(
    'drain-defaults',
    'Jobs that do nothing, by one worker process with each system at its defaults. Of the slow ones fewer jobs are measured.',
    {
      processes: 1,
      work: NOTHING,
      systems: {
        Millrace: 100_000,
        'Millrace, defaults': 10_000,
        'graphile-worker, defaults': 2_000,
        'pg-boss, defaults': 4,
        'River, defaults': 5_000,
      },
      quickly: ['Millrace', 'graphile-worker, defaults'],
      goals: [
        { against: 'graphile-worker, defaults', atLeast: 10 },
        { against: 'pg-boss, defaults', atLeast: 10 },
      ],
    },
  ),
  drainRow('drain-1-ms', 'Jobs that wait for 1 ms, 200 at once in one worker process.', {
    processes: 1,
    work: { kind: 'wait', ms: 1 },
    systems: best(40_000),
    quickly: ['Millrace', 'pg-boss, best'],
    atOnce: 200,
  }),
  drainRow(
    'drain-100-ms',
    'Jobs that wait for 100 ms, 200 at once in one worker process: 2,000 a second are the most.',
    {
      processes: 1,
      work: { kind: 'wait', ms: 100 },
      systems: best(8_000),
      quickly: ['Millrace'],
      atOnce: 200,
    },
  ),
];

/** The same number for each system at its best settings. */
export function best(jobs: number): Record<string, number> {
  const names = ['Millrace', 'graphile-worker, best', 'pg-boss, best', 'River, best', 'raw SQL'];
  return Object.fromEntries(names.map((name) => [name, jobs]));
}

/** A row that drains what each of the systems has loaded. */
export function drainRow(name: string, what: string, load: Load): Row {
  const from = 'Measured from the start of the claiming to the end of the last job in the database.';
  return { name, what: `${what} ${from}`, run: (bench) => run(bench, load) };
}

async function run(
  bench: Bench,
  { systems, quickly, atOnce, more, through, processes, work, goals = [] }: Load,
): Promise<Result> {
  const { server, quick } = bench;
  const subjects = [];
  for (const given of await systemsNamed(...((quick && quickly) || Object.keys(systems)))) {
    const whole = systems[given.name] as number;
    const jobs = quick ? Math.min(QUICK_JOBS, Math.ceil(whole / 4)) : whole;
    bench.say(`loads ${jobs} jobs: ${given.name}`);
    const template = await loaded(server, given, jobs, more);
    const set = atOnce === undefined ? given : given.atOnce(atOnce);
    subjects.push({ name: given.name, system: through?.(set) ?? set, jobs, template });
  }
  const measured = await interleave(bench, subjects, ({ system, jobs, template }) =>
    drained(server, { system, jobs, processes, work, template: template.name }),
  );
  const figures = new Map([...measured].map(([{ name }, of]) => [name, of]));
  return {
    columns: ['system', 'jobs', '×', ...Object.values(COLUMNS)],
    lines: [...measured].map(([{ name, jobs }, of]) => [
      name,
      jobs,
      ratio(of, figures),
      ...(Object.keys(COLUMNS) as Figure[]).map((figure) => of[figure]),
    ]),
    goals: goals.flatMap(({ against, atLeast }) => goalOf(figures, against, atLeast)),
    notes: [
      '×: jobs/s of Millrace over those of the system.',
      ...subjects.flatMap(({ system }) => lessOf(system)),
      ...(atOnce === undefined ? [] : subjects.map(({ system }) => `${system.name}: ${system.settings}`)),
    ],
  };
}

function goalOf(all: ReadonlyMap<string, Drained>, against: string, atLeast: number): Goal[] {
  const other = all.get(against);
  return other ? [{ of: `jobs/s against ${against}`, value: ratio(other, all), atLeast, unit: '×' }] : [];
}

function ratio(of: Drained, all: ReadonlyMap<string, Drained>): number {
  return (all.get('Millrace')?.jobsPerSecond.median ?? Number.NaN) / of.jobsPerSecond.median;
}

/** What the peer leaves undone for each job. */
function lessOf({ name, less }: System): string[] {
  return less === '' ? [] : [`${name}: ${less}`];
}
