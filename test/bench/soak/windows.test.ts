import { expect, test } from 'vitest';
import { Windows } from './windows.ts';

test('a job counts where it began, and the last window is as short as it has to be', () => {
  const windows = new Windows(1_000_000, 25, 10);
  expect(windows.length).toBe(3);
  for (const second of [0, 9.999, 10, 24.9]) windows.add(1_000_000 + second * 1000, 5);
  expect([0, 1, 2].map((n) => windows.at(n).begun)).toEqual([2, 1, 1]);
});

test('what began before the first or after the last window is left out', () => {
  const windows = new Windows(1_000_000, 20, 10);
  windows.add(999_999, 1);
  windows.add(1_020_000, 1);
  expect([0, 1].map((n) => windows.at(n).begun)).toEqual([0, 0]);
});

test('a share of the jobs of several windows is that of them together, not a mean of theirs', () => {
  const windows = new Windows(0, 20, 10);
  for (let n = 0; n < 990; n++) windows.add(1, 2);
  for (let n = 0; n < 10; n++) windows.add(10_001, 800);
  expect(windows.at(0).p99Ms).toBeCloseTo(2, 1);
  expect(windows.at(1).p99Ms).toBeCloseTo(800, -1);
  expect(windows.p99Ms(0, 2)).toBeCloseTo(2, 1);
});

test('where nothing began there is no wait', () => {
  const windows = new Windows(0, 10, 10);
  expect(windows.at(0)).toEqual({ begun: 0, p50Ms: null, p99Ms: null });
  expect(windows.p99Ms(0, 1)).toBeNull();
});

test('a start that one clock puts before the other clock’s begin is a short wait', () => {
  const windows = new Windows(0, 10, 10);
  windows.add(1, -0.4);
  expect(windows.at(0).p50Ms).toBeLessThan(0.01);
});
