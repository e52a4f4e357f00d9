import type { DemoResult } from './run-demo.ts';

const TOP = 5;

/** What the person gets to read at the end. */
export function summaryOf(result: DemoResult, total: number): string[] {
  const { seconds, kills, standing, tally, differences } = result;
  const lines = [
    `${total} jobs in ${seconds.toFixed(1)} s (${Math.round(total / seconds)} jobs/s), ${count(standing.furtherAttempts, 'attempt')} beyond the first` +
      (kills > 0 ? `, ${count(kills, 'worker')} killed, ${count(standing.reaps, 'lease')} run out` : ''),
    ...tally
      .slice(0, TOP)
      .map(
        (line) => `  ${String(line.deliveries).padStart(3)}  ${line.event}  ${line.repository || '(no repository)'}`,
      ),
    ...(tally.length > TOP ? [`  … and ${tally.length - TOP} lines more`] : []),
  ];
  if (differences.length === 0)
    return [...lines, `exact: all ${total} deliveries are counted once, in ${tally.length} lines of webhook_tally`];
  return [
    ...lines,
    `NOT exact: ${differences.length} lines differ`,
    ...differences.map(
      (line) =>
        `  ${line.event}  ${line.repository || '(no repository)'}: ${line.enqueued} enqueued, ${line.counted} counted`,
    ),
  ];
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
