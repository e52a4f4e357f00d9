import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { expect, test } from 'vitest';
import { FLAGS } from '../bench/frame/options.ts';
import { rows } from '../bench/rows/index.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';
import { rowsBelow } from './tables.ts';

const PAGE = 'docs/benchmarks.md';
const text = readFileSync(join(root, PAGE), 'utf8');
const firstCells = (head: string) => rowsBelow(text, head).map(([cell = '']) => cell.replaceAll('`', ''));

test('the page shows a command that the benchmark takes', () => {
  const [, flags = ''] = blockNamed(blocksOf(PAGE), 'bench').trim().split('npm run bench -- ');
  expect(parseArgs({ args: flags.split(' '), options: FLAGS }).values).toMatchObject({ quick: true });
});

test('the page has every flag, and none beside', () => {
  const named = firstCells('| flag').map((cell) => cell.replace(/^--(\S+).*$/, '$1'));
  expect(named.toSorted()).toEqual(Object.keys(FLAGS).toSorted());
});

test('the page has every row, and none beside', () => {
  const there = rows.filter(({ part }) => !part).map(({ name }) => name);
  expect(firstCells('| row').toSorted()).toEqual(there.toSorted());
});
