import { expect, test, vi } from 'vitest';
import { Attempts } from '../../functions/queue/attempts.ts';
import type { Ended } from '../../functions/queue/batch.ts';
import { Bell } from '../../functions/queue/bell.ts';
import { InFlight } from '../../functions/queue/in-flight.ts';
import { Tally } from '../../functions/queue/tally.ts';

test('a run stays open for a job whose row somebody holds, but for half a minute at most', () => {
  const attempts = new Attempts({
    inFlight: new InFlight(),
    tally: new Tally(() => {}),
    bell: new Bell(),
    perform: async () => ({ kind: 'stopped' }),
    delaySeconds: () => 1,
    timeToWait: () => true,
  });
  const [one, other] = [{ bytes: 1 } as Ended, { bytes: 2 } as Ended];
  expect(attempts.waits(1_000)).toBe(false);
  attempts.setAside([one], 1_000);
  expect(attempts.waits(30_999)).toBe(true);
  // Tried again in between, it is blocked since the first time.
  attempts.setAside([one], 20_000);
  expect(attempts.waits(31_000)).toBe(false);
  attempts.setAside([other], 20_000);
  expect(attempts.waits(31_000)).toBe(true);
  expect(attempts.unsettled).toEqual([]);
});

test.for([
  [true, 'is tried again after a second'],
  [false, 'is not tried again when the run has no time for it any more'],
] as const)('with time to wait: %s, such a job %s', ([timeToWait]) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const attempts = new Attempts({
      inFlight: new InFlight(),
      tally: new Tally(() => {}),
      bell: new Bell(),
      perform: async () => ({ kind: 'stopped' }),
      delaySeconds: () => 1,
      timeToWait: () => timeToWait,
    });
    attempts.setAside([{ bytes: 1 } as Ended], 0);
    vi.advanceTimersByTime(1_000);
    expect(attempts.unsettled).toHaveLength(timeToWait ? 1 : 0);
    expect(attempts.waits(1_000)).toBe(!timeToWait);
  } finally {
    vi.useRealTimers();
  }
});
