import { describe, expect, test } from 'vitest';
import { CATCH_UP_LIMIT, dueTimes } from '../../functions/queue/due-times.ts';
import { fireTimes } from '../../functions/queue/fire-times.ts';
import { changesOf, firesOf, type Meaning, YEAR } from './wall-clock.ts';

const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'];
const HOUR = 3_600_000;
const inZone = (cron: string, zone: string) => fireTimes({ cron, zone, every: undefined });
const iso = (times: readonly number[]) => times.map((at) => new Date(at).toISOString().slice(0, 16));

/** Between them they lie in each gap and each hour that comes twice, at its begin and in its middle. */
const PATTERNS: Record<string, Meaning> = {
  '30 2 * * *': { minutes: [30], hours: [2], fixed: true },
  '0 2 * * *': { minutes: [0], hours: [2], fixed: true },
  '45 1 * * *': { minutes: [45], hours: [1], fixed: true },
  '0 3 * * *': { minutes: [0], hours: [3], fixed: true },
  '30 2,14 * * *': { minutes: [30], hours: [2, 14], fixed: true },
  '15,30 1-2 * * *': { minutes: [15, 30], hours: [1, 2], fixed: true },
  '0 0 1,15 * *': { minutes: [0], hours: [0], daysOfMonth: [1, 15], fixed: true },
  '30 1 * * SUN': { minutes: [30], hours: [1], weekdays: [0], fixed: true },
  '15 2 * * MON-FRI': { minutes: [15], hours: [2], weekdays: [1, 2, 3, 4, 5], fixed: true },
  '45 * * * SUN': { minutes: [45], weekdays: [0], fixed: false },
  '*/20 2 * * *': { minutes: [0, 20, 40], hours: [2], fixed: false },
  '0-59/15 1-3 * * SUN': { minutes: [0, 15, 30, 45], hours: [1, 2, 3], weekdays: [0], fixed: false },
};

describe.each(ZONES)('a year in %s', (zone) => {
  const changes = changesOf(zone);
  const within = changes.filter(({ at }) => at > YEAR.from && at < YEAR.until);

  const stated = new Map(Object.entries(PATTERNS).map(([cron, meaning]) => [cron, firesOf(meaning, changes)]));

  test('has both edges of daylight saving', () => {
    expect(within.map(({ before, after }) => Math.sign(after - before)).sort()).toEqual([-1, 1]);
  });

  test.each([...stated])('%s fires exactly as stated', (cron, times) => {
    expect(iso(inZone(cron, zone).between(YEAR.from, YEAR.until, Infinity))).toEqual(iso(times));
  });

  test.each([...stated])('%s does so from whichever instant around an edge it is asked', (cron, times) => {
    const { next } = inZone(cron, zone);
    for (const { at: edge } of within) {
      for (let after = edge - 3 * HOUR; after < edge + 3 * HOUR; after += 7 * 60_000 + 500) {
        expect([after, next(after)]).toEqual([after, times.find((at) => at > after)]);
      }
    }
  });
});

describe('at the edges, as the guide says', () => {
  const on = (cron: string, zone: string, [from, until]: [string, string]) =>
    iso(inZone(cron, zone).between(Date.parse(from), Date.parse(until), 100)).map((time) => time.slice(11));
  const berlin = {
    spring: ['2025-03-30T00:00Z', '2025-03-30T02:00Z'],
    autumn: ['2025-10-26T00:00Z', '2025-10-26T02:00Z'],
  } as const;

  test.each([
    ['30 2 * * *', ['01:00'], ['00:30']],
    ['30 2,14 * * *', ['01:00'], ['00:30']],
    ['15,30 2 * * *', ['01:00'], ['00:15', '00:30']],
    ['*/30 * * * *', ['00:30', '01:00', '01:30', '02:00'], ['00:30', '01:00', '01:30', '02:00']],
    ['*/20 2 * * *', [], ['00:20', '00:40', '01:00', '01:20', '01:40']],
  ])('%s in Berlin', (cron, spring, autumn) => {
    expect(on(cron, 'Europe/Berlin', [...berlin.spring])).toEqual(spring);
    expect(on(cron, 'Europe/Berlin', [...berlin.autumn])).toEqual(autumn);
  });

  test('half an hour is left out on Lord Howe Island', () => {
    const gap: [string, string] = ['2025-10-04T15:00Z', '2025-10-04T16:30Z'];
    expect(on('15 2 * * *', 'Australia/Lord_Howe', gap)).toEqual(['15:30']);
    expect(on('45 2 * * *', 'Australia/Lord_Howe', gap)).toEqual(['15:45']);
  });
});

describe('every', () => {
  const every = (text: string) => fireTimes({ every: text, cron: undefined, zone: undefined });

  test('fires at the multiples of its period since 1970, whatever the zone does', () => {
    const from = Date.parse('2025-03-30T00:00:30Z');
    expect(iso(every('90s').between(from, from + 300_000, 10))).toEqual([
      '2025-03-30T00:01',
      '2025-03-30T00:03',
      '2025-03-30T00:04',
    ]);
    expect(iso(every('1d').between(from, from + 49 * HOUR, 10))).toEqual(['2025-03-31T00:00', '2025-04-01T00:00']);
    expect(every('2h').next(7_200_000)).toBe(14_400_000);
    expect(every('2h').next(7_199_999)).toBe(7_200_000);
  });

  test('takes no time for a second that was missed for years, and answers the latest', () => {
    const until = YEAR.until;
    expect(every('1s').between(0, until, 3)).toEqual([until - 2000, until - 1000, until]);
    expect(every('1s').between(until, until, 3)).toEqual([]);
    expect(every('1s').between(until - 1, until, 3)).toEqual([until]);
  });
});

test('of a pattern, too, the latest are found from behind, however long it was away', () => {
  const daily = inZone('30 2 * * *', 'Europe/Berlin');
  expect(iso(daily.between(YEAR.from, YEAR.until, 2))).toEqual(['2025-12-30T01:30', '2025-12-31T01:30']);
  expect(iso(inZone('0 0 29 2 *', 'UTC').between(0, YEAR.until, 1))).toEqual(['2024-02-29T00:00']);
  expect(daily.between(YEAR.until, YEAR.until, 1)).toEqual([]);
});

describe('what is due', () => {
  const minutely = fireTimes({ every: '1m', cron: undefined, zone: undefined });
  const MIN = 60_000;
  const at = { after: 10 * MIN, now: 15 * MIN + 5 };

  test.each([
    ['latest', at, { times: [15 * MIN], missed: false }],
    ['all', at, { times: [11, 12, 13, 14, 15].map((n) => n * MIN), missed: false }],
    ['none', at, { times: [15 * MIN], missed: false }],
    ['latest', { after: 15 * MIN, now: 15 * MIN + 5 }, { times: [], missed: false }],
  ] as const)('%s, %j', (catchUp, when, due) => {
    expect(dueTimes(minutely, catchUp, when)).toEqual(due);
  });

  test('for none, what nobody came to within two minutes is missed', () => {
    const hourly = fireTimes({ every: '1h', cron: undefined, zone: undefined });
    const due = (lateMs: number) => dueTimes(hourly, 'none', { after: HOUR, now: 2 * HOUR + lateMs });
    expect(due(120_000)).toEqual({ times: [2 * HOUR], missed: false });
    expect(due(120_001)).toEqual({ times: [2 * HOUR], missed: true });
    expect(dueTimes(hourly, 'latest', { after: HOUR, now: 2 * HOUR + 120_001 }).missed).toBe(false);
  });

  test('for all, at most the latest thousand, the oldest first', () => {
    const { times } = dueTimes(minutely, 'all', { after: 0, now: 5000 * MIN });
    expect([times.length, times[0], times.at(-1)]).toEqual([CATCH_UP_LIMIT, 4001 * MIN, 5000 * MIN]);
  });
});
