import { describe, expect, test } from 'vitest';
import { clockSkewSeconds, retryAfterSeconds } from '../../client/retry-after.ts';

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
