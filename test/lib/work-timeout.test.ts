import { Duration } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { DRAIN_MARGIN_SECONDS as ENGINE_MARGIN } from '../../functions/queue/fits.ts';
import { DRAIN_MARGIN_SECONDS, workTimeout } from '../../lib/workers/work-timeout.ts';

const kinds = (...timeouts: number[]) =>
  Object.fromEntries(
    timeouts.map((timeoutSeconds, at) => [`kind.${at}`, defineJob({ payload: z.unknown(), timeoutSeconds })]),
  );
const timeoutOf = (timeouts: number[], given?: Duration) =>
  workTimeout('workers.default.timeout', kinds(...timeouts), given).toSeconds();

test.each([
  ['a minute of claiming, the longest kind and two margins', [5, 300, 30], 370],
  ['at least two minutes', [5], 120],
  ['two minutes without kinds', [], 120],
  ['at most what Lambda allows', [840], 900],
  ['whole seconds, rounded up', [100.5], 171],
])('by default %s', (_, timeouts, seconds) => {
  expect(timeoutOf(timeouts)).toBe(seconds);
});

test('a given timeout holds if the longest kind and two margins fit', () => {
  expect(timeoutOf([290], Duration.minutes(5))).toBe(300);
});

test.each<[string, number[], Duration, string]>([
  [
    'a kind that no run could finish',
    [5, 291],
    Duration.minutes(5),
    'workers.default.timeout must be at least 301 s, not 300 s: a job of kind "kind.1" may take 291 s',
  ],
  [
    'too little for any run',
    [],
    Duration.seconds(9),
    'workers.default.timeout must be at least 10 s, not 9 s: a run keeps',
  ],
  ['more than Lambda allows', [5], Duration.seconds(901), 'must be whole seconds, at most 900 s'],
  ['a fraction of a second', [5], Duration.millis(60_500), "at most 900 s, which is Lambda's limit, not 60.5 s"],
])('%s is refused', (_, timeouts, given, sentence) => {
  expect(() => timeoutOf(timeouts, given)).toThrow(sentence);
});

test('the margin is the one that the engine keeps', () => {
  expect(DRAIN_MARGIN_SECONDS).toBe(ENGINE_MARGIN);
});
