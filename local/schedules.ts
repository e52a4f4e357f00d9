import type { Schedule, Target } from './app.ts';
import type { Ending, LocalFunction } from './function.ts';

export interface RunningSchedules {
  /** Ticks now, out of turn. An invocation that still runs and is younger than its period is left alone. */
  tick(): void;
  /** From now on these: one that is not among them ticks no more, one that is new ticks at once, the others go on. */
  replace(targets: readonly Target<Schedule>[]): void;
  /** No more ticks. What is running goes on. */
  stop(): void;
}

type RunningSchedule = Pick<RunningSchedules, 'tick' | 'stop'>;

export interface ScheduleOptions {
  /** Seconds between ticks, in place of the schedule's own period. */
  readonly tickSeconds?: number | undefined;
  readonly start: (fn: LocalFunction, event: unknown) => { ended: Promise<Ending> };
  /** `last`: no tick comes any more. */
  readonly onEnd: (target: Target<Schedule>, ending: Ending, about: { last: boolean }) => void;
}

/**
 * Starts each schedule's function now and then once a period. With shorter ticks a tick is skipped while the invocation
 * before it still runs and is younger than the period: they exist to replace a worker that died, not to multiply workers.
 */
export function runSchedules(targets: readonly Target<Schedule>[], options: ScheduleOptions): RunningSchedules {
  const running = new Map<Target<Schedule>, RunningSchedule>();
  const replace = (targets: readonly Target<Schedule>[]) => {
    for (const [target, schedule] of running) {
      if (targets.includes(target)) continue;
      schedule.stop();
      running.delete(target);
    }
    for (const target of targets) if (!running.has(target)) running.set(target, runSchedule(target, options));
  };
  const each = (what: keyof RunningSchedule) => () => {
    for (const schedule of running.values()) schedule[what]();
  };
  replace(targets);
  return { replace, tick: each('tick'), stop: each('stop') };
}

function runSchedule(
  target: Target<Schedule>,
  { tickSeconds = target.everySeconds, start, onEnd }: ScheduleOptions,
): RunningSchedule {
  const periodMs = Math.max(target.everySeconds, tickSeconds) * 1000;
  let stopped = false;
  let previous = { startedAt: Number.NEGATIVE_INFINITY, running: false };
  // `slack`: a timer is never exact, and the tick that ends a period must not be lost to a millisecond.
  const tick = (slackMs: number) => {
    if (stopped || (previous.running && performance.now() - previous.startedAt < periodMs - slackMs)) return;
    const invocation = { startedAt: performance.now(), running: true };
    previous = invocation;
    void start(target.fn, target.event).ended.then((ending) => {
      invocation.running = false;
      onEnd(target, ending, { last: stopped });
    });
  };
  tick(0);
  const timer = setInterval(tick, tickSeconds * 1000, (tickSeconds * 1000) / 2);
  return {
    tick: () => tick(0),
    stop: () => {
      stopped = true;
      clearInterval(timer);
    },
  };
}
