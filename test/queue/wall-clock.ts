/*
 * When schedules fire, reckoned without any cron library: from what Intl.DateTimeFormat says of a zone, minute by minute and rule
 * by rule as docs/recurring.md states them.
 */

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Its patterns name multiples of five minutes. */
const STEP = 5 * MINUTE;

export const YEAR = { from: Date.UTC(2025, 0, 1), until: Date.UTC(2026, 0, 1) };

/** What a pattern of five fields means, written down by hand: absent is any. */
export interface Meaning {
  readonly minutes?: readonly number[];
  readonly hours?: readonly number[];
  readonly daysOfMonth?: readonly number[];
  /** 0 is Sunday. */
  readonly weekdays?: readonly number[];
  /** Neither a wildcard nor a step in minute and hour. */
  readonly fixed: boolean;
}

export interface Change {
  readonly at: number;
  /** Milliseconds that the zone is ahead of UTC, before and from then on. */
  readonly before: number;
  readonly after: number;
}

/** The changes of a zone's offset, a month around the year included. */
export function changesOf(zone: string): Change[] {
  const offset = offsetIn(zone);
  const changes: Change[] = [];
  for (let at = YEAR.from - 31 * DAY; at < YEAR.until + 31 * DAY; at += 15 * MINUTE) {
    const [before, after] = [offset(at - 15 * MINUTE), offset(at)];
    if (before !== after) changes.push({ at, before, after });
  }
  return changes;
}

function offsetIn(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (at) => {
    const [month, day, year, hour, minute] = (format.format(at).match(/\d+/g) ?? []).map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute) - at;
  };
}

/** Instants of the year at which it fires in a zone that changes so. */
export function firesOf(meaning: Meaning, changes: readonly Change[]): number[] {
  const first = changes[0] as Change;
  const offsetAt = (at: number) => changes.findLast((change) => change.at <= at)?.after ?? first.before;
  const fires = new Set<number>();
  if (meaning.fixed) {
    // By the clock on the wall: the first instant that shows the time, or the end of the gap that has swallowed it.
    const offsets = new Set(changes.flatMap(({ before, after }) => [before, after]));
    for (let wall = YEAR.from - DAY; wall < YEAR.until + DAY; wall += STEP) {
      if (!shows(meaning, wall)) continue;
      const instants = [...offsets].map((offset) => wall - offset).filter((at) => offsetAt(at) === wall - at);
      const gap = changes.find(({ at, before, after }) => wall - before >= at && wall - after < at);
      fires.add(instants.length > 0 ? Math.min(...instants) : (gap as Change).at);
    }
  } else {
    // By the instants: whenever the wall shows it.
    for (let at = YEAR.from; at <= YEAR.until; at += STEP) if (shows(meaning, at + offsetAt(at))) fires.add(at);
  }
  return [...fires].filter((at) => at > YEAR.from && at <= YEAR.until).sort((a, b) => a - b);
}

/** Whether the clock on the wall shows a time of the pattern. `wall`: that time as if it were UTC. */
function shows({ minutes, hours, daysOfMonth, weekdays }: Meaning, wall: number): boolean {
  const minute = (wall / MINUTE) % 60;
  if (minutes !== undefined && !minutes.includes(minute)) return false;
  const date = new Date(wall);
  return (
    (hours === undefined || hours.includes(date.getUTCHours())) &&
    (daysOfMonth === undefined || daysOfMonth.includes(date.getUTCDate())) &&
    (weekdays === undefined || weekdays.includes(date.getUTCDay()))
  );
}
