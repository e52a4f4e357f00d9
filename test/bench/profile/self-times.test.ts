import type { Profiler } from 'node:inspector';
import { expect, test } from 'vitest';
import { functionName, moduleName, selfTimes } from './self-times.ts';

const REPOSITORY = new URL('../../../', import.meta.url).href;

function frame(name: string, path = '', lineNumber = 0): Profiler.ProfileNode['callFrame'] {
  const url = path && `${REPOSITORY}${path}`;
  return { functionName: name, scriptId: '0', url, lineNumber, columnNumber: 0 };
}

const profile: Profiler.Profile = {
  nodes: [
    { id: 1, callFrame: frame('(program)') },
    { id: 2, callFrame: frame('claim', 'functions/queue/claim.ts', 41) },
    { id: 3, callFrame: frame('', 'node_modules/pg/lib/client.js', 9) },
    { id: 4, callFrame: frame('parse', 'node_modules/@scope/one/index.js', 1) },
    // Called from elsewhere, it is another node of the same function.
    { id: 5, callFrame: frame('claim', 'functions/queue/claim.ts', 41) },
  ],
  startTime: 0,
  endTime: 15_000,
  samples: [1, 2, 3, 5, 4],
  timeDeltas: [0, 1000, 2000, 3000, 4000],
};

test('a function has the time from each of its samples to the next, wherever it was called from', () => {
  expect(selfTimes([profile], functionName)).toEqual([
    { what: 'claim functions/queue/claim.ts:42', ms: 6 },
    { what: '(anonymous) node_modules/pg/lib/client.js:10', ms: 3 },
    { what: '(program)', ms: 1 },
    { what: 'parse node_modules/@scope/one/index.js:2', ms: 0 },
  ]);
});

test('a package is one line, and several processes are added up', () => {
  expect(selfTimes([profile, profile], moduleName)).toEqual([
    { what: 'functions/queue/claim.ts', ms: 12 },
    { what: 'pg', ms: 6 },
    { what: '(program)', ms: 2 },
    { what: '@scope/one', ms: 0 },
  ]);
});
