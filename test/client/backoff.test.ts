import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../client/backoff.ts';

describe('the wait before the next try', () => {
  const many = (tries: number, after?: number) => Array.from({ length: 500 }, () => backoffMs(tries, after));

  test.each([
    [1, 200],
    [2, 400],
    [3, 800],
    [6, 5000],
    [10_000, 5000],
  ])('is random: after try %i up to %i ms', (tries, top) => {
    const waits = many(tries);
    expect(Math.max(...waits)).toBeLessThanOrEqual(top);
    // Of 500, all in the upper or all in the lower half: once in 2^500 runs.
    expect(Math.min(...waits)).toBeLessThan(top / 2);
    expect(Math.max(...waits)).toBeGreaterThan(top / 2);
  });

  test('comes on top of what the server asks for', () => {
    const waits = many(1, 3);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(3000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(3200);
    expect(new Set(waits).size).toBeGreaterThan(1);
  });
});
