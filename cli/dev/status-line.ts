import { terminal } from '../terminal.ts';
import type { Counts } from './counts.ts';

/** How the queue stands, in one line that fits: `12 pending · 3 processing · 1,204 completed · 0 dead · 35 jobs/s · …`. */
export function statusLine(url: string, counts: Counts | undefined, columns: number): string {
  const parts = counts === undefined ? [['the database does not answer', 'red'] as const] : partsOf(counts);
  let room = columns - 1;
  const shown: string[] = [];
  for (const [text, colour] of [...parts, [url, 'cyan'] as const]) {
    // With the dot before it. What does not fit is left out: a line that wraps cannot be drawn over.
    room -= text.length + (shown.length > 0 ? 3 : 0);
    if (room >= 0) shown.push(colour ? terminal.paint[colour](text) : text);
  }
  return shown.join(terminal.paint.dim(' · '));
}

function partsOf({ pending, processing, completed, dead, perSecond }: Counts) {
  return [
    [`${grouped(pending)} pending`, undefined],
    [`${grouped(processing)} processing`, undefined],
    [`${grouped(completed)} completed`, undefined],
    [`${grouped(dead)} dead`, dead > 0 ? 'red' : undefined],
    [`${grouped(perSecond)} jobs/s`, undefined],
  ] as const;
}

function grouped(number: number): string {
  return Math.round(number).toLocaleString('en-US');
}
