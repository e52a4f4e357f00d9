import { Duration } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { DRAIN_MARGIN_SECONDS as ENGINE_MARGIN } from '../../functions/queue/fits.ts';
import { DRAIN_MARGIN_SECONDS, workTimeout } from '../../lib/work-timeout.ts';

const kinds = (...timeouts: number[]) =>
  Object.fromEntries(
    timeouts.map((timeoutSeconds, at) => [`kind.${at}`, defineJob({ payload: z.unknown(), timeoutSeconds })]),
  );

test.each([
  ['lingering, the longest kind and two margins', [5, 300, 30], 370],
  ['at least two minutes', [5], 120],
  ['two minutes without kinds', [], 120],
  ['at most what Lambda allows', [840], 900],
  ['whole seconds, rounded up', [100.5], 171],
])('by default %s', (_, timeouts, seconds) => {
  expect(workTimeout(kinds(...timeouts), 60).toSeconds()).toBe(seconds);
});

test('a given timeout holds if the longest kind and two margins fit', () => {
  expect(workTimeout(kinds(290), 60, Duration.minutes(5)).toSeconds()).toBe(300);
});

test('a kind that no run could finish is refused by name', () => {
  expect(() => workTimeout(kinds(5, 291), 60, Duration.minutes(5))).toThrow(
    'workerTimeout must be at least 301 s, not 300 s: a job of kind "kind.1" may take 291 s',
  );
});

test('more than Lambda allows is refused', () => {
  expect(() => workTimeout(kinds(5), 60, Duration.seconds(901))).toThrow('workerTimeout must be at most 900 s');
});

test('the margin is the one that the engine keeps', () => {
  expect(DRAIN_MARGIN_SECONDS).toBe(ENGINE_MARGIN);
});
