import { readFileSync } from 'node:fs';

/** When jobs come in. */
export interface Trace {
  /** Seconds over which it is looked at, if nothing else is said. */
  readonly seconds: number;
  /** Seconds of it that pass before anything is measured, so that a steady load is seen as it is and not as it begins. */
  readonly warmUpSeconds: number;
  /** The times of jobs in seconds, rising, Infinity after the last. The same numbers for the same `random`. */
  arrivals(random: () => number): () => number;
}

const HOUR = 3600;
const DAY = 24 * HOUR;

export const TRACES = 'poisson:<jobs a second>, burst:<jobs>[@<each so many seconds>], day:<jobs a day> or file:<path>';

/** @throws Error that says what a trace looks like */
export function traceOf(text: string): Trace {
  const [, kind, rest = ''] = /^(\w+):(.+)$/.exec(text) ?? [];
  if (kind === 'poisson') return poisson(positive(rest, text));
  if (kind === 'day') return day(positive(rest, text));
  if (kind === 'burst') {
    const [jobs = '', each] = rest.split('@');
    return bursts(positive(jobs, text), each === undefined ? Infinity : positive(each, text));
  }
  if (kind === 'file') return recorded(timesIn(readFileSync(rest, 'utf8'), rest));
  throw new Error(`--trace must be ${TRACES}, not "${text}"`);
}

/** Jobs that know nothing of each other, so many a second on average. */
function poisson(rate: number): Trace {
  return {
    seconds: HOUR,
    warmUpSeconds: 3 * 60,
    arrivals: (random) => {
      let at = 0;
      return () => {
        at -= Math.log(1 - random()) / rate;
        return at;
      };
    },
  };
}

/** How much of a day's mean there is at 15 o'clock, the busiest; at 3 there is a twelfth of that. */
const PEAK = 1.85;

/** A day with its night. Drawn at the peak's rate, and thinned by the hour's. */
function day(jobs: number): Trace {
  const peak = (PEAK * jobs) / DAY;
  return {
    seconds: DAY,
    warmUpSeconds: 0,
    arrivals: (random) => {
      let at = 0;
      return () => {
        do at -= Math.log(1 - random()) / peak;
        while (random() * PEAK > 1 - (PEAK - 1) * Math.cos((2 * Math.PI * (at - 3 * HOUR)) / DAY));
        return at;
      };
    },
  };
}

/** All at once, a minute and a third after the beginning so that it meets no tick; then again and again, or not. */
function bursts(jobs: number, eachSeconds: number): Trace {
  return {
    seconds: Number.isFinite(eachSeconds) ? Math.max(HOUR, 10 * eachSeconds) : HOUR,
    warmUpSeconds: 0,
    arrivals: () => {
      let at = 80;
      let left = jobs;
      return () => {
        if (left === 0) {
          at += eachSeconds;
          left = jobs;
        }
        left--;
        return at;
      };
    },
  };
}

function recorded(times: readonly number[]): Trace {
  return {
    seconds: Math.max(60, ...times.slice(-1)),
    warmUpSeconds: 0,
    arrivals: () => {
      let at = 0;
      return () => times[at++] ?? Infinity;
    },
  };
}

/** A line is a time in seconds or in ISO 8601, and after a comma how many jobs came then, if not one. */
function timesIn(text: string, path: string): number[] {
  const times: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [time = '', count = '1'] = line.split(',').map((cell) => cell.trim());
    const seconds = /^[\d.]+$/.test(time) ? Number(time) : Date.parse(time) / 1000;
    if (!Number.isFinite(seconds) || !/^\d+$/.test(count)) {
      throw new Error(
        `line ${index + 1} of ${path} must be seconds or an ISO time, and perhaps a comma and how many jobs, not "${line}"`,
      );
    }
    for (let n = 0; n < Number(count); n++) times.push(seconds);
  }
  times.sort((one, other) => one - other);
  const [first = 0] = times;
  return times.map((seconds) => seconds - first);
}

function positive(text: string, trace: string): number {
  const number = Number(text.replaceAll('_', ''));
  if (number > 0 && Number.isFinite(number)) return number;
  throw new Error(`--trace must be ${TRACES} with numbers above 0, not "${trace}"`);
}
