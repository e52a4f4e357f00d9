/** The cells of the first table whose head begins so. */
export function rowsBelow(text: string, head: string): string[][] {
  const [, after = ''] = text.split(`\n${head}`);
  const [table = ''] = after.split('\n\n');
  return table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

/** Rows as a table of Markdown, the first of them its head: columns of one width, numbers to the right. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const widths = head.map((_, at) => Math.max(3, ...rows.map((row) => (row[at] as string).length)));
  const right = head.map((_, at) => body.every((row) => /^[<–-]?[\d.,]*( ?[a-zµ]+)?$/.test(row[at] as string)));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const padded = (row: readonly string[]) =>
    line(row.map((cell, at) => (right[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))));
  const rule = line(widths.map((width, at) => (right[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))));
  return [padded(head), rule, ...body.map(padded)].join('\n');
}
