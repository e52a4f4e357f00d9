import { expect, test } from 'vitest';
import { scaleOf } from './scale.ts';

test.each([
  { values: [3, 7.2], ticks: [0, 2, 4, 6, 8] },
  { values: [0.31], ticks: [0, 0.1, 0.2, 0.3, 0.4] },
  { values: [5234, 6100, null], ticks: [0, 2000, 4000, 6000, 8000] },
  { values: [20], ticks: [0, 5, 10, 15, 20] },
  { values: [0, 0], ticks: [0, 0.5, 1] },
  { values: [], ticks: [0, 0.5, 1] },
])('a linear axis of $values begins at 0 and ends at or above all', ({ values, ticks }) => {
  expect(
    scaleOf(
      'linear',
      values.map((value) => value ?? Number.NaN),
    ).ticks,
  ).toEqual(ticks);
});

test.each([
  { values: [3, 40], ticks: [1, 10, 100] },
  { values: [0.2, 9], ticks: [0.1, 1, 10] },
  { values: [10, 10], ticks: [10, 100] },
  { values: [0, 5], ticks: [1, 10] },
  { values: [1, 4_000_000], ticks: [1, 100, 10_000, 1_000_000] },
])('a logarithmic axis of $values has whole decades', ({ values, ticks }) => {
  expect(scaleOf('log', values).ticks).toEqual(ticks);
});

test('a place is the share of the axis, and a decade is as long as the next', () => {
  expect([0, 2, 8].map(scaleOf('linear', [7]).at)).toEqual([0, 0.25, 1]);
  expect([1, 10, 100].map(scaleOf('log', [2, 90]).at)).toEqual([0, 0.5, 1]);
});

test('what is no number, or has no logarithm, has no place', () => {
  expect([Number.NaN, 1].map(scaleOf('linear', [1]).at)).toEqual([undefined, 1]);
  expect([Number.NaN, 0, -1].map(scaleOf('log', [1]).at)).toEqual([undefined, undefined, undefined]);
});
