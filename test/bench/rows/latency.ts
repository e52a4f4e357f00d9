import { interleave } from '../frame/interleave.ts';
import type { Bench, Result, Row } from '../frame/row.ts';
import { CALLERS, type Paced, paced, SHARES } from '../pace/paced.ts';
import { systemsNamed } from '../systems/index.ts';
import type { System } from '../systems/system.ts';

const SYSTEMS = ['Millrace', 'graphile-worker, best', 'pg-boss, best', 'River, best'];

export const rows: readonly Row[] = [
  latencyRow(
    'latency',
    'How long a job that comes into an empty queue waits for its start, in one worker process, at 1%, 50% and 90% of the capacity.',
  ),
];

/** `through`: what stands between the systems and their database. */
export function latencyRow(name: string, what: string, through = (system: System) => system): Row {
  const from = 'Measured from the moment at which the job is to be put in to the first line of its code.';
  return { name, what: `${what} ${from}`, run: (bench) => run(bench, through) };
}

async function run(bench: Bench, through: (system: System) => System): Promise<Result> {
  const { server, quick } = bench;
  const subjects = await systemsNamed(...(quick ? SYSTEMS.slice(0, 1) : SYSTEMS));
  const measured = await interleave(bench, subjects, (system) => paced(server, through(system), quick ? 0.15 : 3));
  const figures: (keyof Paced)[] = [
    'capacity',
    ...SHARES.flatMap((share) => [`p50At${share}`, `p99At${share}`] as const),
  ];
  return {
    columns: [
      'system',
      'capacity, jobs/s',
      ...SHARES.flatMap((share) => [`p50 at ${share}%, ms`, `p99 at ${share}%, ms`]),
    ],
    lines: [...measured].map(([{ name }, of]) => [name, ...figures.map((figure) => of[figure])]),
    notes: [
      `Capacity: what ${CALLERS} callers that enqueue one by one and one worker process get through together in a second, both on this machine; each system has its own, so its 90% may be another's 50%.`,
      'At 1% there may be no more than some dozens of jobs, so that p99 is the longest wait.',
      'Millrace, by itself, asks an empty queue each 107 ms and needs no connection that listens; graphile-worker and River are woken by NOTIFY.',
    ],
  };
}
