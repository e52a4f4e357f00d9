import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from './command.ts';
import type { SamSchedule } from './template.ts';

export interface TicksOptions {
  /** For the files with the events. */
  readonly directory: string;
  readonly schedules: readonly SamSchedule[];
  /** In place of the schedules' own periods. */
  readonly tickSeconds: number | undefined;
  /** Calls the function of that id with what the file holds. */
  readonly invoke: (id: string, eventFile: string) => Command;
}

/**
 * SAM runs no schedules, so they tick here: now, and then each period. A function that still runs is left to: in the cloud
 * a worker that lingers ends just before the next starts, and here each start of a container comes on top.
 */
export async function startTicks({ directory, schedules, tickSeconds, invoke }: TicksOptions) {
  const running = new Map<SamSchedule, Command>();
  const tick = (schedule: SamSchedule, file: string) => {
    if (running.has(schedule)) return;
    const invoked = invoke(schedule.id, file);
    running.set(schedule, invoked);
    void invoked.ended.then(() => running.delete(schedule));
  };
  const timers = await Promise.all(
    schedules.map(async (schedule, at) => {
      const file = join(directory, `event-${at}.json`);
      await writeFile(file, schedule.event);
      tick(schedule, file);
      return setInterval(() => tick(schedule, file), (tickSeconds ?? schedule.everySeconds) * 1000);
    }),
  );
  return {
    /** No more ticks; resolves when the last have ended. */
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all([...running.values()].map((invoked) => invoked.interrupt()));
    },
    kill: () => {
      for (const invoked of running.values()) invoked.kill();
    },
  };
}
