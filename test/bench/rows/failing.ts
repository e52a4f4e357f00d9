import type { Row } from '../frame/row.ts';
import { best, drainRow } from './drain.ts';

/** A raw statement has no retries. */
const { 'raw SQL': _, ...systems } = best(20_000);

export const rows: readonly Row[] = [
  drainRow(
    'failing',
    'Jobs that fail at their first attempt, 20,000 of them, and are tried again after the shortest delay that the system has.',
    { processes: 1, work: { kind: 'fail once' }, systems, quickly: ['Millrace'] },
  ),
];
