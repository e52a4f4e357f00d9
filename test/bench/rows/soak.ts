import type { Bench, Result, Row } from '../frame/row.ts';
import type { Soak } from '../soak/series.ts';
import { soak } from '../soak/soak.ts';
import { keepUp } from '../soak/upkeep.ts';
import { WINDOW_SECONDS } from '../soak/windows.ts';
import { systemNamed } from '../systems/index.ts';

const MINUTES = 20;
/** Two thirds of it count, in which the kernel writes out twice what it has held back for its 30 s, and commits wait for the disk. */
const CAPACITY_SECONDS = 90;

interface Subject {
  /** Of the row. */
  readonly name: string;
  readonly system: string;
  readonly queueTable: string;
  readonly beside?: (databaseUrl: string) => () => Promise<void>;
  readonly notes: readonly string[];
}

const SUBJECTS: readonly Subject[] = [
  {
    name: 'millrace',
    system: 'Millrace',
    queueTable: 'millrace.live_jobs',
    beside: keepUp,
    notes: [
      'The reaper ticks each minute beside the worker, as it does in production.',
      'The rest is what is kept: finished jobs and payloads, with their indexes.',
    ],
  },
  {
    name: 'graphile-worker',
    system: 'graphile-worker, best',
    queueTable: 'graphile_worker._private_jobs',
    notes: ['A job that is finished is deleted: nothing is kept.'],
  },
];

export const rows: readonly Row[] = [false, true].flatMap((pinned) =>
  SUBJECTS.map((subject) => rowOf(subject, pinned)),
);

function rowOf(subject: Subject, pinned: boolean): Row {
  return {
    name: pinned ? `soak-pinned-${subject.name}` : `soak-${subject.name}`,
    what: `${subject.system} under a steady load of 70% of what it takes on this machine with jobs put in and done at once, measured right before: no-op jobs, put in 100 times a second, one worker process, autovacuum on${pinned ? ', and a transaction that stays open throughout, so that vacuum removes nothing' : ''}. The wait of a job counts from the moment it was to be put in, whether it was or not, to the start of its processor.`,
    long: true,
    run: (bench) => run(bench, subject, pinned),
  };
}

async function run(bench: Bench, { system, queueTable, beside, notes }: Subject, pinned: boolean): Promise<Result> {
  const { quick, server, say } = bench;
  const soaked = await soak(server, {
    system: await systemNamed(system),
    queueTable,
    ...(beside && { beside }),
    pinned,
    seconds: quick ? 0.6 : (bench.minutes ?? MINUTES) * 60,
    windowSeconds: quick ? 0.3 : WINDOW_SECONDS,
    capacitySeconds: quick ? 0.3 : CAPACITY_SECONDS,
    say,
  });
  return { ...tableOf(soaked), notes, series: soaked };
}

function tableOf(soaked: Soak): Pick<Result, 'columns' | 'lines' | 'goals'> {
  const { system, pinned, windows, firstMinuteP99Ms, lastMinuteP99Ms } = soaked;
  const growth = (lastMinuteP99Ms ?? Number.NaN) / (firstMinuteP99Ms ?? Number.NaN);
  const last = windows.at(-1);
  const figures = {
    'takes, jobs/s': soaked.capacityPerSecond,
    'gets, jobs/s': soaked.perSecond,
    'begun in the slowest window, jobs/s': Math.min(...windows.map(({ begunPerSecond }) => begunPerSecond)),
    'p99 of the first minute, ms': firstMinuteP99Ms ?? Number.NaN,
    'p99 of the last minute, ms': lastMinuteP99Ms ?? Number.NaN,
    'last ÷ first': growth,
    'waiting at the end': last?.waiting ?? Number.NaN,
    'queue table and indexes at most, MB':
      Math.max(...windows.map(({ tableBytes, indexBytes }) => tableBytes + indexBytes)) / 1e6,
    'dead rows at most': Math.max(...windows.map(({ deadRows }) => deadRows)),
    'the rest at the end, MB': (last?.restBytes ?? Number.NaN) / 1e6,
  };
  const goals = [
    { of: 'pinned horizon, p99 of the last minute against the first', value: growth, atMost: 1.5, unit: '×' },
  ];
  return {
    columns: Object.keys(figures),
    lines: [Object.values(figures)],
    ...(pinned && system === 'Millrace' && { goals }),
  };
}
