import { Cron } from 'croner';
import type { Schedule } from './schedule.ts';

/** Instants at which a schedule fires, as milliseconds since 1970. Pure: they follow from the schedule and the time zone alone. */
export interface FireTimes {
  /** The first one after that instant; undefined: there is none. */
  next(after: number): number | undefined;
  /** Those after `after`, up to `until` and with it, in order; of more than `most` the latest. */
  between(after: number, until: number, most: number): number[];
}

type When = Pick<Schedule, 'cron' | 'every' | 'zone'>;

/** @throws what croner says of a pattern, RangeError for a period or a time zone: see check-schedules.ts */
export function fireTimes({ cron, every, zone = 'UTC' }: When): FireTimes {
  return cron === undefined ? ofPeriod(periodMs(every ?? '')) : ofCron(cron, zone);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `5m`, `2h`, `1d`. @throws RangeError for anything else */
export function periodMs(every: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,7})([smhd])$/.exec(every) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (!(ms <= LONGEST_MS))
    throw new RangeError('a whole number with its unit, from 1s to 366d: "90s", "5m", "2h", "1d"');
  return ms;
}

const LONGEST_MS = 366 * 86_400_000;

function ofPeriod(period: number): FireTimes {
  const next = (after: number) => (Math.floor(after / period) + 1) * period;
  return {
    next,
    between: (after, until, most) => {
      const last = Math.floor(until / period) * period;
      const first = Math.max(next(after), last - (most - 1) * period);
      return Array.from({ length: Math.max(0, (last - first) / period + 1) }, (_, n) => first + n * period);
    },
  };
}

/**
 * croner knows the edges of daylight saving (docs/decisions/0022). Times without a wildcard or step in minute and hour are fixed:
 * one that lies in the gap comes at the gap's end, one that comes twice is taken the first time. The others follow the clock on
 * the wall: what lies in the gap does not come, and what comes twice is taken twice.
 */
function ofCron(pattern: string, timezone: string): FireTimes {
  const cron = new Cron(pattern, { mode: '5-part', fixedTimeRule: 'no-wildcard', timezone, paused: true });
  const next = (after: number) => cron.nextRun(new Date(after))?.getTime();
  const all = (after: number, until: number) => {
    const times: number[] = [];
    for (let at = next(after); at !== undefined && at <= until; at = next(at)) times.push(at);
    return times;
  };
  return {
    next,
    // From behind, in longer and longer stretches: a pattern takes 70 µs for each time, and of a month only the last may be wanted.
    between: (after, until, most) => {
      let stretch = STRETCH_MS;
      for (;;) {
        const from = Math.max(after, until - stretch);
        const times = all(from, until);
        if (from === after || times.length >= most) return times.slice(-most);
        stretch *= 24;
      }
    },
  };
}

const STRETCH_MS = 3_600_000;
