import { describe, expect, test } from 'vitest';
import { lingerSeconds } from '../../functions/queue/pickup.ts';
import {
  decideStart,
  RELIEF_SECONDS,
  rowsThatMatter,
  runsNeeded,
  type Seen,
  type Start,
  type StartDecision,
} from '../../functions/queue/start.ts';

const tick: Start = { slot: 0, woken: false, lingers: false, concurrency: 10 };
const calm: Seen = { holder: undefined, due: 0, inFlight: 0, jobSeconds: 0.1 };
const old = { ageSeconds: RELIEF_SECONDS };
const young = { ageSeconds: RELIEF_SECONDS - 1 };

describe('a start', () => {
  test.each<[string, Partial<Start>, Partial<Seen>, StartDecision]>([
    ['with nothing due', {}, {}, 'emptied'],
    ['with something due', {}, { due: 1 }, 'take'],
    ['that lingers, with nothing due', { lingers: true }, {}, 'take'],
    ['that was woken, with nothing due any more', { woken: true }, {}, 'take'],
    ['that was woken, and finds somebody', { woken: true, lingers: true }, { holder: old, due: 9 }, 'held'],
    ['of a doubled tick', { lingers: true }, { holder: young, due: 9 }, 'held'],
    ['of the next tick relieves who lingers', { lingers: true }, { holder: old }, 'take'],
    ['of the next tick relieves who is busy', {}, { holder: old, due: 1 }, 'take'],
    ['above the first, with nothing to do', { slot: 1, lingers: true }, {}, 'unneeded'],
    ['above the first, with what the first can do', { slot: 1 }, { due: 1000, jobSeconds: 0.1 }, 'unneeded'],
    ['above the first, with more', { slot: 1 }, { due: 1200, jobSeconds: 0.1 }, 'take'],
    ['above the second, with that', { slot: 2 }, { due: 1200, jobSeconds: 0.1 }, 'unneeded'],
    ['above the first, of a doubled tick', { slot: 1 }, { due: 5000, holder: young }, 'held'],
    ['above the first, when jobs in flight take both', { slot: 1 }, { inFlight: 15 }, 'take'],
  ])('%s', (_, start, seen, decision) => {
    expect(decideStart({ ...tick, ...start }, { ...calm, ...seen })).toBe(decision);
  });
});

test.each([
  ['nothing', {}, 0],
  ['one job, which the first slot is there for', { due: 1 }, 0],
  ['as many short jobs as one run does in ten seconds', { due: 1000 }, 1],
  ['a little more, which is not worth a start', { due: 1100 }, 1],
  ['a good deal more', { due: 1101 }, 2],
  ['jobs that nobody has seen yet: a second each', { due: 1000, jobSeconds: undefined }, 10],
  ['jobs that take longer than ten seconds: a place each', { due: 30, jobSeconds: 600 }, 3],
  ['what is processed, and what is due', { inFlight: 10, due: 1000 }, 2],
  ['more than is counted', { due: 50_000, jobSeconds: 1e-3 }, Infinity],
] satisfies [string, Partial<Seen>, number][])('%s needs its number of runs', (_, seen, runs) => {
  expect(runsNeeded({ ...calm, ...(seen as Partial<Seen>) }, 10)).toBe(runs);
});

test('counting only as far as it matters decides the same', () => {
  for (const jobSeconds of [undefined, 1e-6, 0.01, 0.1, 1, 9, 100]) {
    for (const slot of [0, 1, 2, 7, 99]) {
      for (const due of [0, 1, 9, 100, 1111, 1200, 12_345, 49_999, 50_000, 1e7]) {
        for (const inFlight of [0, 5, 11, 400]) {
          const start = { ...tick, slot };
          const matters = rowsThatMatter(start, jobSeconds);
          const all = { ...calm, due, inFlight, jobSeconds };
          const some = { ...all, due: Math.min(due, matters), inFlight: Math.min(inFlight, matters) };
          expect(decideStart(start, some), JSON.stringify({ slot, ...all })).toBe(decideStart(start, all));
        }
      }
    }
  }
});

test.each([
  ['second', { slot: 0, woken: false }, Infinity],
  ['second', { slot: 0, woken: true }, Infinity],
  ['instant', { slot: 0, woken: false }, 0],
  ['instant', { slot: 0, woken: true }, 3],
  ['minute', { slot: 0, woken: false }, 0],
  ['minute', { slot: 0, woken: true }, 3],
  ['second', { slot: 1, woken: false }, 3],
  ['minute', { slot: 5, woken: false }, 3],
] as const)('with pickup %s, %j lingers %d s', (pickup, start, seconds) => {
  expect(lingerSeconds(pickup, start)).toBe(seconds);
});
