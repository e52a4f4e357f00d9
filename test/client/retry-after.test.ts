import { describe, expect, test } from 'vitest';
import { clockSkewSeconds, pauseMs, retryAfterSeconds } from '../../client/retry-after.ts';

const DATE = 'Sun, 29 Nov 2026 18:00:00 GMT';

describe('Retry-After', () => {
  test.each<[string, string | undefined, number | undefined]>([
    ['nothing', undefined, undefined],
    ['seconds', '7', 7],
    ['no seconds', '0', 0],
    ['seconds with space around', ' 7 ', 7],
    ['a date to come', 'Sun, 29 Nov 2026 18:00:30 GMT', 30],
    ['a date that has passed', 'Sun, 29 Nov 2026 17:00:00 GMT', 0],
    ['a date in the old form', 'Sunday, 29-Nov-26 18:00:30 GMT', 30],
    ['a negative number', '-5', undefined],
    ['a fraction', '1.5', undefined],
    ['text', 'soon', undefined],
    ['an empty value', '', undefined],
    ['a number beyond all measure', '9'.repeat(400), Number.POSITIVE_INFINITY],
  ])('%s', (_, value, seconds) => {
    const headers = new Headers({ date: DATE, ...(value !== undefined && { 'retry-after': value }) });
    expect(retryAfterSeconds(headers)).toBe(seconds);
  });

  test('a date without the server’s own is compared with this clock', () => {
    const headers = new Headers({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() });
    expect(retryAfterSeconds(headers)).toBeGreaterThan(50);
    expect(retryAfterSeconds(headers)).toBeLessThanOrEqual(60);
  });
});

test('the skew of the clock is known only with a date', () => {
  expect(clockSkewSeconds(new Headers())).toBeUndefined();
  expect(clockSkewSeconds(new Headers({ date: new Date(Date.now() - 3_600_000).toUTCString() }))).toBeCloseTo(3600, -1);
});

describe('the pause before the next try', () => {
  const many = (tries: number, after?: number) => Array.from({ length: 500 }, () => pauseMs(tries, after));

  test.each([
    [1, 200],
    [2, 400],
    [3, 800],
    [6, 5000],
    [10_000, 5000],
  ])('is random: after try %i up to %i ms', (tries, top) => {
    const pauses = many(tries);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(top);
    // Of 500, all in the upper or all in the lower half: once in 2^500 runs.
    expect(Math.min(...pauses)).toBeLessThan(top / 2);
    expect(Math.max(...pauses)).toBeGreaterThan(top / 2);
  });

  test('comes on top of what the server asks for', () => {
    const pauses = many(1, 3);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(3000);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(3200);
    expect(new Set(pauses).size).toBeGreaterThan(1);
  });
});
