import { delayed } from '../delay/delayed.ts';
import type { Row } from '../frame/row.ts';
import { best, drainRow } from './drain.ts';
import { latencyRow } from './latency.ts';

export const rows: readonly Row[] = [2, 10].flatMap((ms) => [
  drainRow(
    `drain-delay-${ms}-ms`,
    `Jobs that do nothing, 20,000 of them, by one worker process with ${ms} ms more between it and the database, there and back.`,
    {
      processes: 1,
      work: { kind: 'nothing' },
      systems: best(20_000),
      quickly: ['Millrace'],
      through: (system) => delayed(system, ms),
    },
  ),
  latencyRow(
    `latency-delay-${ms}-ms`,
    `How long a job that comes into an empty queue waits for its start, with ${ms} ms more between the database and all others.`,
    (system) => delayed(system, ms),
  ),
]);
