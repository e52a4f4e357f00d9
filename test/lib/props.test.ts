import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FILES = ['job-queue-props.ts', 'database/job-database-props.ts', 'bundles/bundling-props.ts'];

/** Props of an interface with the comment before each. */
const props = FILES.flatMap((file) => {
  const source = readFileSync(new URL(`../../lib/${file}`, import.meta.url), 'utf8');
  return [...source.matchAll(/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?readonly (\w+)(\??):/g)].map(
    ([, comment = '', name, optional]) => ({ name: `${name} in ${file}`, comment, optional: optional === '?' }),
  );
});

test('every prop is described, and an optional one says what holds without it', () => {
  expect(props.length).toBeGreaterThan(40);
  expect(props.filter(({ comment }) => comment.trim() === '').map(({ name }) => name)).toEqual([]);
  const silent = props.filter(({ comment, optional }) => optional && !comment.includes('@default'));
  expect(silent.map(({ name }) => name)).toEqual([]);
});
