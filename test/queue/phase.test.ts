import { expect, test } from 'vitest';
import { nextPhase, type Phase, type Situation } from '../../functions/queue/phase.ts';

/** A run that lingers, in a slot. */
const calm: Situation = {
  drainRequested: false,
  refused: false,
  remainingMs: 60_000,
  relieved: false,
  fitting: 2,
  foundNothing: true,
  idleMs: 2_999,
  lingerMs: 3_000,
  present: true,
};
const idle = { idleMs: 3_000 };
const unseen = { present: false };

test.each([
  ['it found nothing, and lingers', {}, 'claim'],
  ['it found nothing for as long as it lingers: others are told first', idle, 'leave'],
  ['they were told, and there is nothing still', { ...idle, ...unseen }, 'emptied'],
  ['they were told, and there is something after all', { ...idle, ...unseen, foundNothing: false }, 'claim'],
  ['it lingers until it is relieved', { idleMs: 1e9, lingerMs: Infinity }, 'claim'],
  ['it does not linger: it leaves when it finds nothing', { idleMs: 0, lingerMs: 0 }, 'leave'],
  ['nobody sees it, and it does not linger', { ...unseen, idleMs: 0, lingerMs: 0 }, 'emptied'],
  ['it does not linger, and has not found nothing', { lingerMs: 0, idleMs: 1e6, foundNothing: false }, 'claim'],
  ['another run has its slot, whatever is due', { relieved: true, foundNothing: false }, 'relieved'],
  ['another run has its slot, and it lingers', { relieved: true, lingerMs: Infinity }, 'relieved'],
  ['no kind fits any more', { fitting: 0 }, 'deadline'],
  ['only the margin is left', { remainingMs: 5_000, relieved: true }, 'deadline'],
  ['the database refuses', { refused: true, fitting: 0 }, 'failed'],
  ['told to drain', { drainRequested: true, refused: true, fitting: 0 }, 'drained'],
] satisfies [string, Partial<Situation>, Phase][])('%s', (_, situation, phase) => {
  expect(nextPhase({ ...calm, ...(situation as Partial<Situation>) })).toBe(phase);
});
