import { expect, onTestFinished, test } from 'vitest';
import type { Ending } from '../../local/function.ts';
import { reporter } from '../../local/reporter.ts';
import { runSchedules } from '../../local/schedules.ts';
import { functionOf } from './bundle.ts';

/** A schedule whose invocations end when told. */
async function running({ everySeconds, tickSeconds }: { everySeconds: number; tickSeconds?: number }) {
  const started: { event: unknown; end: (ending: Ending) => void }[] = [];
  const endings: Ending[] = [];
  const schedules = runSchedules([{ name: 'Work', everySeconds, event: { slot: 0 }, fn: await functionOf('') }], {
    tickSeconds,
    start: (_, event) => {
      const { promise, resolve } = Promise.withResolvers<Ending>();
      started.push({ event, end: resolve });
      return { ended: promise };
    },
    onEnd: (_, ending) => endings.push(ending),
  });
  onTestFinished(() => schedules.stop());
  return { started, endings, schedules };
}

test('the first tick is at once, and each period brings another though the one before still runs', async () => {
  const { started } = await running({ everySeconds: 0.2 });
  expect(started.map(({ event }) => event)).toEqual([{ slot: 0 }]);
  await expect.poll(() => started.length).toBe(3);
});

test('with short ticks a worker that still runs within its period is left alone, and one that died is replaced', async () => {
  const { started, endings } = await running({ everySeconds: 60, tickSeconds: 0.05 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(started).toHaveLength(1);
  started[0]?.end({ kind: 'died', how: 'signal SIGKILL' });
  await expect.poll(() => started.length).toBe(2);
  expect(endings).toEqual([{ kind: 'died', how: 'signal SIGKILL' }]);
});

test('with short ticks a worker older than its period gets company', async () => {
  const { started } = await running({ everySeconds: 0.4, tickSeconds: 0.1 });
  await expect.poll(() => started.length).toBe(2);
});

test('a tick out of turn replaces an invocation that ended and leaves alone one that runs', async () => {
  const { started, endings, schedules } = await running({ everySeconds: 60 });
  schedules.tick();
  expect(started).toHaveLength(1);
  started[0]?.end({ kind: 'died', how: 'signal SIGKILL' });
  await expect.poll(() => endings.length).toBe(1);
  schedules.tick();
  expect(started).toHaveLength(2);
});

test('nothing starts after a stop', async () => {
  const { started, schedules } = await running({ everySeconds: 0.05 });
  schedules.stop();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(started).toHaveLength(1);
});

test('what ends after the stop is said to be the last: nobody is promised another', async () => {
  const target = { name: 'Work', everySeconds: 60, event: { slot: 0 }, fn: await functionOf('') };
  const lines: string[] = [];
  const { ended } = reporter((line) => lines.push(line));
  const ends: ((ending: Ending) => void)[] = [];
  const start = () => ({ ended: new Promise<Ending>((resolve) => ends.push(resolve)) });
  const schedules = runSchedules([target], { start, onEnd: ended });
  schedules.tick();
  ends[0]?.({ kind: 'died', how: 'exit code 3' });
  await expect.poll(() => lines.at(-1)).toMatch(/ended by exit code 3; the next tick starts another$/);
  schedules.tick();
  schedules.stop();
  ends[1]?.({ kind: 'died', how: 'signal SIGKILL' });
  await expect.poll(() => lines.at(-1)).toMatch(/ended by signal SIGKILL$/);
});
