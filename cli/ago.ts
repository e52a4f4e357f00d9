/** Seconds of each unit, the largest first. */
const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** "3m ago", "in 2h", "now": a time as people take it in. By this machine's clock, which nothing is decided by. */
export function ago(time: string | null | undefined, now = Date.now()): string {
  if (time === null || time === undefined) return '';
  const seconds = (now - Date.parse(time)) / 1000;
  if (Math.abs(seconds) < 1) return 'now';
  return seconds > 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

/** "3m", "2h", "450ms": the largest unit that it fills. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  const [unit, size] = UNITS.find(([, one]) => seconds >= one) ?? UNITS[3];
  return `${Math.floor(seconds / size)}${unit}`;
}
