/** Three digits that count, or all of a large whole: `0.0123`, `1.42`, `23.1`, `18,204`. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}
