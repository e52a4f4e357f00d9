import { describe, expect, test } from 'vitest';
import { bytesOf, type Ended, nextBatch, type Written } from '../../functions/queue/batch.ts';

const limits = { rows: 3, bytes: 100 };

describe('nextBatch', () => {
  test.each([
    ['nothing has ended', [], []],
    ['only the verb asked for', [ended(1, 10), ended(2, 10, 'retry'), ended(3, 10)], [1, 3]],
    ['no more rows than allowed', [ended(1, 1), ended(2, 1), ended(3, 1), ended(4, 1)], [1, 2, 3]],
    ['no more bytes than allowed', [ended(1, 60), ended(2, 40), ended(3, 1)], [1, 2]],
    ['the first however large', [ended(1, 1000), ended(2, 1)], [1]],
    ['a job only once', [ended(1, 1), ended(2, 1), ended(1, 1)], [1, 2]],
    ['in order: a small one does not overtake a large one', [ended(1, 50), ended(2, 60), ended(3, 10)], [1]],
  ] satisfies [string, Ended[], number[]][])('%s', (_, all, ids) => {
    expect(nextBatch(all as Ended[], 'complete', limits).map(({ job }) => job.id)).toEqual(ids.map(String));
  });
});

describe('bytesOf', () => {
  test.each([
    ['no result', { kind: 'complete', result: null }, 88],
    ['a text', { kind: 'complete', result: 'äöü' }, 88],
    ['an object', { kind: 'complete', result: { a: [1, 2] } }, 91],
    ['a release', { kind: 'release', delaySeconds: 0 }, 80],
    ['an error', { kind: 'retry', error: { attempt: 1, name: 'E', message: 'm' }, delaySeconds: 1 }, 118],
  ] satisfies [string, Written, number][])('%s', (_, settlement, bytes) => {
    expect(bytesOf(settlement as Written, null)).toBe(bytes);
  });

  test('a burial moves the payload, whatever code has made of it meanwhile', () => {
    const bury: Written = { kind: 'bury', error: { attempt: 1, name: 'E', message: 'm' } };
    const payload: Record<string, unknown> = { text: 'x'.repeat(1000) };
    expect(bytesOf(bury, payload) - bytesOf(bury, {})).toBe(1009);
    expect(bytesOf({ kind: 'retry', error: bury.error, delaySeconds: 1 }, payload)).toBe(bytesOf(bury, null) - 8);
    payload.self = payload;
    expect(bytesOf(bury, payload)).toBe(Infinity);
  });
});

function ended(id: number, bytes: number, verb: 'complete' | 'retry' = 'complete'): Ended {
  const settlement: Written =
    verb === 'complete'
      ? { kind: 'complete', result: null }
      : { kind: 'retry', error: { attempt: 1, name: 'Error', message: '' }, delaySeconds: 1 };
  return { job: { id: String(id) } as Ended['job'], settlement, bytes, durationMs: 0 };
}
