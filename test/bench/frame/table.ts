import { goalText } from './goal.ts';
import { number } from './number.ts';
import type { Cell, Result, Row } from './row.ts';

/** A row of the benchmark as markdown, with its heading. */
export function section({ name, what }: Pick<Row, 'name' | 'what'>, { columns, lines, goals, notes }: Result): string {
  const parts = [`## ${name}`, what, tableOf(columns, lines), listOf(goals?.map(goalText)), listOf(notes)];
  return parts.filter((part) => part !== '').join('\n\n');
}

function tableOf(columns: readonly string[], lines: readonly (readonly Cell[])[]): string {
  const rows = lines.map((line) => line.map(cell));
  const widths = columns.map((column, at) => Math.max(column.length, 3, ...rows.map((row) => row[at]?.length ?? 0)));
  const ofNumbers = columns.map((_, at) => lines.some((line) => typeof line[at] !== 'string'));
  const padded = (texts: readonly string[]) =>
    `| ${widths.map((width, at) => (ofNumbers[at] ? (texts[at] ?? '').padStart(width) : (texts[at] ?? '').padEnd(width))).join(' | ')} |`;
  const rule = `| ${widths.map((width, at) => (ofNumbers[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))).join(' | ')} |`;
  return [padded(columns), rule, ...rows.map(padded)].join('\n');
}

function cell(value: Cell): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return number(value);
  const { median, least, most } = value;
  return least === most ? number(median) : `${number(median)} (${number(least)}–${number(most)})`;
}

function listOf(items: readonly string[] = []): string {
  return items.map((item) => `- ${item}`).join('\n');
}
