import { readJob } from './get.ts';
import type { Job } from './job.ts';
import { type Call, pathOf } from './request.ts';

/** A recurring job as a worker has declared it, and how its fire times went. Times as those of a job. */
export interface Schedule {
  readonly name: string;
  /** Its times, as they are declared: this, or `every`. */
  readonly cron: string | null;
  /** `90s`, `5m`, `2h`, `1d`. */
  readonly every: string | null;
  /** What `cron` is meant in; null with `every`. */
  readonly zone: string | null;
  readonly kind: string;
  readonly queue: string;
  /** Which fire times count that passed while no worker was there. */
  readonly catchUp: 'latest' | 'all' | 'none';
  /** Whether it makes a job while another of its jobs is live. */
  readonly overlap: 'skip' | 'allow';
  readonly paused: boolean;
  readonly nextFireAt: string | null;
  /** The last fire time that came, and what became of it. */
  readonly lastFireAt: string | null;
  readonly lastOutcome: 'fired' | 'overlap' | 'paused' | 'missed' | null;
  /** Of the last fire time that made one. */
  readonly lastJobId: string | null;
  /** When a worker last said that its code has this schedule. */
  readonly declaredAt: string;
}

export function schedulesCall(): Call<Schedule[]> {
  return {
    method: 'GET',
    path: pathOf`/schedules`,
    read: ({ schedules }: { schedules: Schedule[] }) => {
      if (!Array.isArray(schedules)) throw new Error('no schedules');
      return schedules;
    },
  };
}

export function fireCall(name: string): Call<Job> {
  return { method: 'POST', path: pathOf`/schedules/${name}/fire`, read: readJob<Job> };
}
