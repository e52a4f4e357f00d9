import { expect, test } from 'vitest';
import { reasonToStop, type Situation } from '../../functions/queue/phase.ts';

const calm: Situation = {
  drainRequested: false,
  refused: false,
  remainingMs: 60_000,
  elapsedMs: 1_000,
  lingerMs: 30_000,
  handsOver: true,
  fitting: 2,
  foundNothing: true,
};

test.each([
  ['lingers though nothing is due', {}, undefined],
  ['lingered long enough', { elapsedMs: 30_000 }, 'lingered'],
  [
    'lingered long enough with work left: the next tick has begun',
    { elapsedMs: 30_000, foundNothing: false },
    'lingered',
  ],
  ['nobody takes over: lingers though nothing is due', { handsOver: false }, undefined],
  ['nobody takes over: lingered, nothing due', { handsOver: false, elapsedMs: 30_000 }, 'emptied'],
  ['nobody takes over: lingered, work left', { handsOver: false, foundNothing: false, elapsedMs: 1e6 }, undefined],
  ['without lingering, nothing due', { handsOver: false, lingerMs: 0 }, 'emptied'],
  ['without lingering, work left', { handsOver: false, lingerMs: 0, foundNothing: false, elapsedMs: 1e6 }, undefined],
  ['no kind fits any more', { fitting: 0 }, 'deadline'],
  ['only the margin is left', { remainingMs: 5_000 }, 'deadline'],
  ['the database refuses', { refused: true }, 'failed'],
  ['told to drain', { drainRequested: true, refused: true, fitting: 0 }, 'drained'],
] satisfies [string, Partial<Situation>, string | undefined][])('%s', (_, situation, reason) => {
  expect(reasonToStop({ ...calm, ...(situation as Partial<Situation>) })).toBe(reason);
});
