import { expect, test } from 'vitest';
import { chooseQueue } from '../../local/queue-choice.ts';
import type { Stack } from '../../local/template.ts';

const stack = (name: string, ...paths: string[]): Stack => ({
  name,
  directory: '/',
  resources: new Map(),
  queues: paths.map((path) => ({ path, kinds: [] })),
});
const shop = stack('Shop', 'Shop/Jobs');
const site = stack('Site');
const office = stack('Dev-Office', 'Dev/Office/Mail', 'Dev/Office/Reports');
const bare = [stack('One'), stack('Two')];

test.each([
  ['the only queue, whatever else the app has', [site, shop], undefined, ['Shop'], 'Shop/Jobs'],
  ['the queue of the stack', [shop, office], 'Shop', ['Shop'], 'Shop/Jobs'],
  ['the queue of that path', [shop, office], 'Dev/Office/Mail', ['Dev-Office'], 'Dev/Office/Mail'],
  ['all that is there, where nothing says what is a queue', bare, undefined, ['One', 'Two'], undefined],
  ['a stack of these', bare, 'Two', ['Two'], undefined],
])('%s', (_, stacks, wanted, names, path) => {
  const { stacks: chosen, queue } = chooseQueue(stacks, wanted);
  expect(chosen.map(({ name }) => name)).toEqual(names);
  expect(queue?.path).toBe(path);
});

test.each([
  [[shop, office], undefined, 'more than one queue (Shop/Jobs, Dev/Office/Mail, Dev/Office/Reports)'],
  [[shop, office], 'Dev', 'choose it with --stack Dev/Office/Mail'],
  [[shop, office], 'Dev-Office', 'more than one queue (Dev/Office/Mail, Dev/Office/Reports)'],
  [[shop, office], 'Sho', '--stack Sho fits no queue of the app: choose one of Shop/Jobs, Dev/Office/Mail'],
  [bare, 'Three', '--stack Three is no stack of the app: choose one of One, Two.'],
])('not exactly one, so what there is: %#', (stacks, wanted, sentence) => {
  expect(() => chooseQueue(stacks, wanted)).toThrow(sentence);
});
