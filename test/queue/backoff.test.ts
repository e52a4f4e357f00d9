import { describe, expect, test } from 'vitest';
import { backoff, reconnectDelay } from '../../functions/queue/backoff.ts';

const policy = { baseSeconds: 30, capSeconds: 21_600 };

describe('backoff', () => {
  test.each([
    { attempts: 1, ceiling: 30 },
    { attempts: 2, ceiling: 60 },
    { attempts: 5, ceiling: 480 },
    { attempts: 10, ceiling: 15_360 },
    { attempts: 11, ceiling: 21_600 },
    { attempts: 1000, ceiling: 21_600 },
  ])('attempt $attempts waits from 1 s to $ceiling s', ({ attempts, ceiling }) => {
    expect(backoff(policy, attempts, () => 0)).toBe(1);
    expect(backoff(policy, attempts, () => 0.5)).toBe(1 + (ceiling - 1) / 2);
    expect(backoff(policy, attempts, () => 1)).toBe(ceiling);
  });

  test('a ceiling below a second still waits a second', () => {
    expect(backoff({ baseSeconds: 0.1, capSeconds: 0.5 }, 3, () => 0.7)).toBe(1);
  });

  test('the jitter is full: uniform over the whole window', () => {
    const random = seeded(7);
    const tenths = new Array(10).fill(0);
    const draws = 20_000;
    for (let i = 0; i < draws; i++) {
      const share = (backoff(policy, 5, random) - 1) / (480 - 1);
      tenths[Math.min(9, Math.floor(share * 10))]++;
    }
    // Chi-square with 9 degrees of freedom: 27.9 is passed once in a thousand, and the seed makes it the same each time.
    const expected = draws / 10;
    const chiSquare = tenths.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    expect(chiSquare).toBeLessThan(27.9);
  });
});

describe('reconnectDelay', () => {
  test.each([
    { failures: 1, ceiling: 100 },
    { failures: 3, ceiling: 400 },
    { failures: 5, ceiling: 1_600 },
    { failures: 6, ceiling: 2_000 },
    { failures: 400, ceiling: 2_000 },
  ])('after $failures failures: from 20 ms, so that nothing spins, to $ceiling ms', ({ failures, ceiling }) => {
    expect(reconnectDelay(failures, () => 0)).toBe(20);
    expect(reconnectDelay(failures, () => 1)).toBe(ceiling);
  });
});

/** A linear congruential generator (Numerical Recipes, §7.1): the same draws in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
