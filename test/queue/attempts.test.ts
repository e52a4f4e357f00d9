import { expect, test, vi } from 'vitest';
import { Attempts } from '../../functions/queue/attempts.ts';
import type { Ended } from '../../functions/queue/batch.ts';
import { Bell } from '../../functions/queue/bell.ts';
import { InFlight } from '../../functions/queue/in-flight.ts';
import type { ClaimedJob } from '../../functions/queue/job.ts';
import { JobSeconds } from '../../functions/queue/job-seconds.ts';
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

test('how long a job took its place is counted once, also of one whose row somebody held', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const jobSeconds = new JobSeconds();
    const add = vi.spyOn(jobSeconds, 'add');
    const attempts = new Attempts({
      inFlight: new InFlight(),
      tally: new Tally(() => {}),
      jobSeconds,
      bell: new Bell(),
      perform: async () => ({ kind: 'succeeded', result: null }),
      delaySeconds: () => 1,
      timeToWait: () => true,
    });
    for (const id of ['held', 'free']) attempts.start({ id, payload: null } as ClaimedJob);
    await vi.waitFor(() => expect(attempts.unsettled).toHaveLength(2));
    const [held] = attempts.unsettled as [Ended, Ended];
    attempts.settled([...attempts.unsettled]);
    attempts.setAside([held], performance.now());
    expect(add).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1_000);
    attempts.settled([...attempts.unsettled]);
    expect(attempts.unsettled).toEqual([]);
    expect(add).toHaveBeenCalledTimes(2);
  } finally {
    vi.useRealTimers();
  }
});

test('what was claimed as the drain began takes no time of a place', () => {
  const jobSeconds = new JobSeconds();
  const attempts = new Attempts({
    inFlight: new InFlight(),
    tally: new Tally(() => {}),
    jobSeconds,
    bell: new Bell(),
    perform: async () => ({ kind: 'stopped' }),
    delaySeconds: () => 1,
    timeToWait: () => true,
  });
  attempts.drain('the end is near');
  attempts.start({ id: 'late', payload: null } as ClaimedJob);
  const { settlement } = attempts.unsettled[0] as Ended;
  expect(settlement).toEqual({ kind: 'release', delaySeconds: 0 });
  attempts.settled([...attempts.unsettled]);
  expect(jobSeconds.take()).toBeUndefined();
});
