import { terminal } from './terminal.ts';
import { visible } from './visible.ts';
import { cut, widthOf } from './width.ts';

export interface Column<Row> {
  readonly title: string;
  /** As programs read it. */
  readonly of: (row: Row) => string | number | null | undefined;
  /** As people read it, such as "3m ago". Default: as programs do. */
  readonly shown?: (row: Row) => string;
  /** Gives room to the others when the terminal is too narrow. */
  readonly cuts?: true;
  /**
   * Left out on a terminal that is too narrow, the last first: `true` where not all of each value has room, `at-last` where the
   * others could not even be cut so far that it has.
   */
  readonly spare?: true | 'at-last';
  readonly align?: 'right';
  readonly paint?: (text: string, row: Row) => string;
}

/** Blanks between columns. */
const GAP = 2;
/** Columns that one which is cut keeps. */
const LEAST = 8;

/**
 * Shows rows on stdout: columns within the terminal's width for people; when piped, all of each value, with a tab between and
 * no titles, since those are no data.
 */
export function showTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const lines = terminal.isWatched ? linesFor(columns, rows, terminal.width) : rows.map((row) => tabbed(columns, row));
  for (const line of lines) terminal.show(line);
}

export function tabbed<Row>(columns: readonly Column<Row>[], row: Row): string {
  return columns.map(({ of }) => visible(String(of(row) ?? ''))).join('\t');
}

/**
 * Title and rows in columns, none longer than `width` where columns that may be cut or left out allow it. One that says nothing
 * of any row is left out anyway.
 */
export function linesFor<Row>(all: readonly Column<Row>[], rows: readonly Row[], width: number): string[] {
  const columns = withRoom(
    all.filter((column, at) => at === 0 || rows.some((row) => cellOf(column, row) !== '')),
    rows,
    width,
  );
  const cells = rows.map((row) => columns.map((column) => cellOf(column, row)));
  const widths = fitted(
    columns,
    columns.map((column) => naturalWidth(column, rows)),
    width,
  );
  const { bold } = terminal.paint;
  const head = line(columns.map(({ title, align }, at) => padded(bold(title), title, widths[at] ?? 0, align)));
  return [
    head,
    ...rows.map((row, index) => line(columns.map((column, at) => cell(column, cells[index]?.[at] ?? '', row)))),
  ];

  function cell(column: Column<Row>, text: string, row: Row): string {
    const room = widths[columns.indexOf(column)] ?? 0;
    const kept = cut(text, room);
    return padded(column.paint?.(kept, row) ?? kept, kept, room, column.align);
  }
}

function cellOf<Row>({ of, shown }: Column<Row>, row: Row): string {
  return visible(shown?.(row) ?? String(of(row) ?? ''));
}

function naturalWidth<Row>(column: Column<Row>, rows: readonly Row[]): number {
  return Math.max(column.title.length, ...rows.map((row) => widthOf(cellOf(column, row))));
}

/** Without those that may be left out, as many as it takes. */
function withRoom<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): readonly Column<Row>[] {
  const widths = columns.map((column) => naturalWidth(column, rows));
  const cutWidths = columns.map(({ cuts }, at) => (cuts ? Math.min(widths[at] ?? 0, LEAST) : (widths[at] ?? 0)));
  const spare =
    (sumOf(widths) > width ? columns.findLast((column) => column.spare === true) : undefined) ??
    (sumOf(cutWidths) > width ? columns.findLast((column) => column.spare === 'at-last') : undefined);
  if (spare === undefined) return columns;
  return withRoom(
    columns.filter((column) => column !== spare),
    rows,
    width,
  );
}

/** Of a line with columns of these widths. */
function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, (widths.length - 1) * GAP);
}

function line(cells: readonly string[]): string {
  return cells.join(' '.repeat(GAP)).trimEnd();
}

/** `painted` is `text` with colours, which take no columns. */
function padded(painted: string, text: string, width: number, align: 'right' | undefined): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? blanks + painted : painted + blanks;
}

/** Takes from the widest of those that may be cut until all fit, or none has more to give. */
function fitted<Row>(columns: readonly Column<Row>[], natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  let over = sumOf(widths) - width;
  while (over > 0) {
    const giving = columns.flatMap(({ cuts }, at) => (cuts && (widths[at] ?? 0) > LEAST ? [at] : []));
    const widest = giving.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over--;
  }
  return widths;
}
