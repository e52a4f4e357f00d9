import { expect, test } from 'vitest';
import { chosen, optionsOf } from './options.ts';

const rows = [{ name: 'drain' }, { name: 'soak', long: true }, { name: 'soak-pinned', long: true }, { name: 'soaked' }];

test.each([
  { args: [], names: ['drain', 'soaked'] },
  { args: ['--quick'], names: ['drain', 'soak', 'soak-pinned', 'soaked'] },
  { args: ['--only', 'soak'], names: ['soak', 'soak-pinned'] },
  { args: ['--only', 'soak-pinned,drain'], names: ['drain', 'soak-pinned'] },
  { args: ['--only', 'soaked', '--only', 'drain'], names: ['drain', 'soaked'] },
])('$args runs $names', ({ args, names }) => {
  expect(chosen(rows, optionsOf(args)).map(({ name }) => name)).toEqual(names);
});

test('a name that no row has is refused with those that there are', () => {
  expect(() => chosen(rows, optionsOf(['--only', 'drian']))).toThrow(
    'there is no row drian; there are drain, soak, soak-pinned, soaked',
  );
});

test.each(['0', '-1', 'five'])('--rounds %s is refused', (rounds) => {
  expect(() => optionsOf([`--rounds=${rounds}`])).toThrow('--rounds must be a number above 0');
});
