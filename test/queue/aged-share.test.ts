import { AgedShare } from '../../functions/queue/aged-share.ts';
import { expect, test } from '../support/fixtures.ts';

/** Of so many claims, one after the other. */
function shares(claims: number, limit: number, { soon = false, behind = 0 } = {}): number[] {
  const share = new AgedShare(behind);
  return Array.from({ length: claims }, () => {
    const aged = share.of(limit, { soon });
    share.claimed(limit, aged);
    return aged;
  });
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

test('a claim that comes alone gives a tenth to the oldest, and of small ones every tenth job', () => {
  expect(shares(3, 10)).toEqual([1, 1, 1]);
  expect(shares(4, 25)).toEqual([2, 3, 2, 3]);
  expect(shares(11, 1)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
});

test('of claims that follow one another one in ten takes the oldest, ten at most of them at once', () => {
  expect(shares(11, 10, { soon: true })).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0]);
  expect(shares(11, 3, { soon: true })).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0]);
  expect(shares(11, 1, { soon: true })).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  expect(shares(3, 100, { soon: true })).toEqual([10, 10, 10]);
});

test.for([1, 3, 7, 10, 19, 99, 500])('it is a tenth of all in claims of %i, however they come', (limit) => {
  for (const soon of [false, true]) {
    const claims = 2000;
    const owed = (claims * limit) / 10;
    const found = sum(shares(claims, limit, { soon }));
    expect(found).toBeGreaterThan(owed - 11);
    expect(found).toBeLessThanOrEqual(owed);
  }
});

test('what was put off is made up for by the next claim that comes alone', () => {
  const share = new AgedShare(0);
  for (let n = 0; n < 7; n++) share.claimed(10, share.of(10, { soon: true }));
  expect(share.of(10, { soon: false })).toBe(8);
});

test('a claim never takes more of the oldest than it takes', () => {
  const share = new AgedShare(0);
  share.claimed(500, 0);
  expect(share.of(3, { soon: false })).toBe(3);
});

test('a claim that failed owes what it did before', () => {
  const share = new AgedShare(0);
  expect([share.of(10, { soon: false }), share.of(10, { soon: false })]).toEqual([1, 1]);
});

test('runs that take one job each give some of them to the oldest', () => {
  const runs = Array.from({ length: 1000 }, () => new AgedShare().of(1, { soon: false }));
  // One in ten by chance: fewer than 30 or more than 200 in a thousand would come once in 10^16.
  expect(sum(runs)).toBeGreaterThan(30);
  expect(sum(runs)).toBeLessThan(200);
});
