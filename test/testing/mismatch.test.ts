import { expect, test } from 'vitest';
import { mismatches } from '../../testing/mismatch.ts';

test.each([
  ['the same', { a: 1 }, { a: 1 }, []],
  ['a part', { a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }, []],
  ['undefined is anything', { a: undefined }, { a: 1 }, []],
  ['another value', { a: 1 }, { a: '1' }, ['a is "1", wanted 1']],
  ['null is a value', { a: null }, { a: 0 }, ['a is 0, wanted null']],
  ['a missing member', { a: { b: null } }, { a: {} }, ['a.b is missing, wanted null']],
  ['a longer array', { a: [1] }, { a: [1, 2] }, ['a has 2 items, wanted 1']],
  ['parts in an array', { a: [{ b: 1 }] }, { a: [{ b: 2, c: 3 }] }, ['a.0.b is 2, wanted 1']],
  ['an array is no object', { a: {} }, { a: [] }, ['a is [], wanted {}']],
  ['the whole', 1, 2, ['it is 2, wanted 1']],
])('%s', (_, wanted, actual, expected) => {
  expect(mismatches(wanted, actual)).toEqual(expected);
});

test('a long value is cut', () => {
  expect(mismatches('x', 'y'.repeat(1000))[0]?.length).toBeLessThan(350);
});
