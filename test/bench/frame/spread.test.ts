import { expect, test } from 'vitest';
import { percentile, spreadOf } from './spread.ts';

test.each([
  { values: [3], spread: { median: 3, least: 3, most: 3 } },
  { values: [9, 1, 5], spread: { median: 5, least: 1, most: 9 } },
  { values: [10, 9, 1, 4], spread: { median: 6.5, least: 1, most: 10 } },
])('of $values the spread is $spread', ({ values, spread }) => {
  expect(spreadOf(values)).toEqual(spread);
});

test.each([
  { share: 0, value: 1 },
  { share: 0.5, value: 51 },
  { share: 0.99, value: 100 },
  { share: 1, value: 100 },
])('the $share of 1 to 100 is $value', ({ share, value }) => {
  const numbers = Array.from({ length: 100 }, (_, at) => 100 - at);
  expect(percentile(numbers, share)).toBe(value);
});
