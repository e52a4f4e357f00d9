import { expect, test } from 'vitest';
import { kindsThatFit } from '../../functions/queue/fits.ts';

const contracts = new Map([
  ['quick', { timeoutSeconds: 1 }],
  ['slow', { timeoutSeconds: 60 }],
]);

test.each([
  { remainingMs: Infinity, kinds: ['quick', 'slow'] },
  { remainingMs: 65_000, kinds: ['quick', 'slow'] },
  { remainingMs: 64_999, kinds: ['quick'] },
  { remainingMs: 6_000, kinds: ['quick'] },
  { remainingMs: 5_999, kinds: [] },
  { remainingMs: -1, kinds: [] },
])('with $remainingMs ms left: $kinds', ({ remainingMs, kinds }) => {
  expect([...kindsThatFit(contracts, remainingMs).keys()]).toEqual(kinds);
});

test('a lease outlives its job: the timeout and a margin', () => {
  expect(kindsThatFit(contracts, Infinity)).toEqual(
    new Map([
      ['quick', 11],
      ['slow', 70],
    ]),
  );
  expect(kindsThatFit(contracts, Infinity, 0.5).get('quick')).toBe(1.5);
});
