import { createHash } from 'node:crypto';
import type { Row } from '../frame/row.ts';
import { best, drainRow } from './drain.ts';

/** Hexadecimal digits in a row that no compression finds anything in but that they are sixteen. */
function noise(bytes: number): string {
  let text = '';
  for (let n = 0; text.length < bytes; n++) text += createHash('sha256').update(String(n)).digest('hex');
  return text.slice(0, bytes);
}

export const rows: readonly Row[] = [
  drainRow('heavy', 'Jobs that do nothing with a payload of 8 KB each, 20,000 of them, by one worker process.', {
    processes: 1,
    work: { kind: 'nothing' },
    systems: best(20_000),
    quickly: ['Millrace'],
    more: { text: noise(8192) },
  }),
];
