import { expect, test } from 'vitest';
import { RunClock } from '../../functions/queue/run-clock.ts';

test.for<[string, remainingMs: number, statementSeconds: number | undefined, short: boolean]>([
  ['with a minute to go', 60_000, undefined, false],
  ['in the last moment', 600, undefined, true],
  ['past it', 0, undefined, true],
  ['with a minute to go and little patience of its own', 60_000, 0.5, false],
])('%s, a statement has the time it needs, or not for the end alone', ([, remainingMs, statementSeconds, short]) => {
  const clock = new RunClock(() => remainingMs, statementSeconds);
  expect(clock.isShort(clock.statementMs())).toBe(short);
  clock.stop();
});
