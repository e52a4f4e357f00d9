import type { Schedule, Target } from './app.ts';
import type { Ending, LocalFunction } from './function.ts';

export interface RunningSchedules {
  /** No more ticks. What is running goes on. */
  stop(): void;
}

export interface ScheduleOptions {
  /** Seconds between ticks, in place of the schedule's own period. */
  readonly tickSeconds?: number | undefined;
  readonly start: (fn: LocalFunction, event: unknown) => { ended: Promise<Ending> };
  readonly onEnd: (target: Target<Schedule>, ending: Ending) => void;
}

/**
 * Starts each schedule's function now and then once a period. With shorter ticks a tick is skipped while the invocation
 * before it still runs and is younger than the period: they exist to replace a worker that died, not to multiply workers.
 */
export function runSchedules(targets: readonly Target<Schedule>[], options: ScheduleOptions): RunningSchedules {
  const timers = targets.map((target) => {
    const tickSeconds = options.tickSeconds ?? target.everySeconds;
    const periodMs = Math.max(target.everySeconds, tickSeconds) * 1000;
    let previous: { startedAt: number; running: boolean } | undefined;
    const tick = () => {
      // Half a tick of slack: a timer is never exact, and the tick that ends the period must not be lost to a millisecond.
      const young =
        previous !== undefined && performance.now() - previous.startedAt < periodMs - (tickSeconds * 1000) / 2;
      if (previous?.running && young) return;
      const invocation = { startedAt: performance.now(), running: true };
      previous = invocation;
      void options.start(target.fn, target.event).ended.then((ending) => {
        invocation.running = false;
        options.onEnd(target, ending);
      });
    };
    tick();
    return setInterval(tick, tickSeconds * 1000);
  });
  return { stop: () => timers.forEach(clearInterval) };
}
