import { enqueued } from '../frame/enqueued.ts';
import { interleave } from '../frame/interleave.ts';
import { installed } from '../frame/loaded.ts';
import type { Bench, Goal, Result, Row, Spread } from '../frame/row.ts';
import { systemsNamed } from '../systems/index.ts';

const COLUMNS = {
  jobsPerSecond: 'jobs/s',
  p50Ms: 'call p50, ms',
  p99Ms: 'call p99, ms',
  walBytesPerJob: 'WAL, bytes/job',
  databaseCpuPerThousand: 'database CPU, s/1,000',
  callerCpuPerThousand: 'caller CPU, s/1,000',
} as const;

type Figure = keyof typeof COLUMNS;

interface Load {
  readonly jobs: number;
  readonly callers: number;
  /** Jobs of a call. 1: the call for a single one. */
  readonly batch: number;
  /** Against the fastest peer that is in Node, and against that in Go. */
  readonly atLeast: number;
}

/**
 * Those that put jobs in from Node, and the one that does from Go. What pg-boss needs to start a job at once, NOTIFY in each
 * enqueue, makes the enqueue itself slower: by its defaults it has none.
 */
const PEERS = [['graphile-worker, best', 'pg-boss, best', 'pg-boss, defaults'], ['River, best']];
const SYSTEMS = ['Millrace', 'Millrace, SQL', ...PEERS.flat()];

export const rows: readonly Row[] = [
  row('enqueue-one', 'One job a call, 10 callers at once, each with a connection.', {
    jobs: 5_000,
    callers: 10,
    batch: 1,
    atLeast: 1,
  }),
  row('enqueue-100', 'Batches of 100 jobs a call, 4 callers at once.', {
    jobs: 50_000,
    callers: 4,
    batch: 100,
    atLeast: 1.2,
  }),
  row('enqueue-1000', 'Batches of 1,000 jobs a call, 4 callers at once.', {
    jobs: 100_000,
    callers: 4,
    batch: 1000,
    atLeast: 1.2,
  }),
];

function row(name: string, what: string, load: Load): Row {
  const how = 'By each system’s own call, from one process, into empty tables; each call is a commit of its own.';
  return { name, what: `${what} ${how}`, run: (bench) => run(bench, load) };
}

async function run(bench: Bench, { jobs: whole, callers, batch, atLeast }: Load): Promise<Result> {
  const { server, quick } = bench;
  const jobs = quick ? callers * batch * 2 : whole;
  const subjects = [];
  for (const system of await systemsNamed(...SYSTEMS)) {
    subjects.push({ name: system.name, system, template: await installed(server, system) });
  }
  const measured = await interleave(bench, subjects, ({ system, template }) =>
    enqueued(server, { system, jobs, callers, batch, template: template.name }),
  );
  const rates = new Map([...measured].map(([{ name }, { jobsPerSecond }]) => [name, jobsPerSecond]));
  return {
    columns: ['system', '×', ...Object.values(COLUMNS)],
    lines: [...measured].map(([{ name }, of]) => [
      name,
      ratio(rates, name),
      ...(Object.keys(COLUMNS) as Figure[]).map((figure) => of[figure]),
    ]),
    goals: goals(rates, atLeast),
    notes: [
      `${jobs.toLocaleString('en')} jobs with a payload of a number; ×: jobs/s of Millrace over those of the system.`,
      'graphile-worker, River and “pg-boss, best” wake workers by NOTIFY, which their quick starts rest on; the others do not.',
      'Millrace checks each payload by its contract before it is sent; the others, and “Millrace, SQL”, check none.',
      'River is a process of its own, told of each call over a pipe: about 0.1 ms of a call; its CPU is not in that of the caller.',
    ],
  };
}

function ratio(rates: ReadonlyMap<string, Spread>, name: string): number {
  return (rates.get('Millrace')?.median ?? Number.NaN) / (rates.get(name)?.median ?? Number.NaN);
}

function goals(rates: ReadonlyMap<string, Spread>, atLeast: number): Goal[] {
  return PEERS.flatMap((peers) => {
    const [better] = peers.filter((name) => rates.has(name)).toSorted((a, b) => ratio(rates, a) - ratio(rates, b));
    if (better === undefined) return [];
    return [{ of: `jobs/s against ${better}`, value: ratio(rates, better), atLeast, unit: '×' }];
  });
}
