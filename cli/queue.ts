import type { Enqueued, JobOptions } from '../client/enqueue.ts';
import type { Job, JobWith, Part, Status } from '../client/job.ts';
import type { Counts, Page } from '../client/list.ts';
import type { Paused, Target as PauseTarget } from '../client/pause.ts';
import type { Readiness } from '../client/ready.ts';
import type { RedriveFilter, RedriveStep } from '../client/redrive.ts';
import type { Schedule } from '../client/schedules.ts';
import type { Ended } from '../client/wait-for.ts';
import type { Stats } from '../functions/queue/stats.ts';
import type { TargetOptions } from './target-options.ts';

/** Each narrows the listing further. */
export interface JobFilter {
  readonly status?: Status | undefined;
  readonly kind?: string | undefined;
  readonly subject?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
}

export interface JobToEnqueue extends JobOptions {
  readonly kind: string;
  readonly payload: unknown;
}

/**
 * One queue, by its API or by its database. Jobs look the same over both: those of millrace/client. What fails is a CliError with
 * the code to exit with, over both with the same `code`: `no-such-job`, `wrong-state`, `schedule-overlap`, …
 */
export interface QueueAccess {
  readonly by: 'http' | 'sql';
  /** For people: the URL of the API, or host, port and name of the database. Nothing secret. */
  readonly where: string;
  /** Id of this run of the command: in the API's logs, in operator_log and in the job that it puts in. */
  readonly requestId: string;

  enqueue(job: JobToEnqueue): Promise<Enqueued>;
  get<P extends Part = never>(id: string, include?: readonly P[]): Promise<JobWith<P>>;
  /** Rejects with the code `timed-out` if it has not ended in that time. */
  waitFor<P extends Part>(
    id: string,
    options: { readonly timeoutSeconds: number; readonly include: readonly P[] },
  ): Promise<Ended<P>>;
  /** Pages of up to 200 jobs, newest first, each read when the one before is used up. */
  pages(filter: JobFilter, limit: number): AsyncGenerator<Page, void, undefined>;
  counts(filter: JobFilter): Promise<Counts>;
  stats(): Promise<Stats>;
  ready(): Promise<Readiness>;
  /** By name. */
  schedules(): Promise<readonly Schedule[]>;

  /** Cancelled, or with `cancelRequestedAt` while it is processing. */
  cancel(id: string): Promise<Job>;
  redrive(id: string): Promise<Job>;
  /** One step of many; its `nextCursor` is the `cursor` of the next, over either way. */
  redriveStep(filter: RedriveFilter): Promise<RedriveStep>;
  erase(id: string): Promise<void>;
  pause(target: PauseTarget): Promise<Paused>;
  resume(target: PauseTarget): Promise<Paused>;
  /** The job that it has made. */
  fire(schedule: string): Promise<Job>;

  close(): Promise<void>;
}

/** @throws CliError if the options and the environment name no queue, or two; nothing is connected yet */
async function openQueue(options: TargetOptions): Promise<QueueAccess> {
  const { targetOf } = await import('./target.ts');
  const target = await targetOf(options);
  if (target.by === 'http') return (await import('./queue-http.ts')).httpQueue(target);
  return (await import('./queue-sql.ts')).sqlQueue(target);
}

/** Opens it, and closes it when `use` is done or has thrown. */
export async function withQueue<T>(options: TargetOptions, use: (queue: QueueAccess) => Promise<T>): Promise<T> {
  const queue = await openQueue(options);
  try {
    return await use(queue);
  } finally {
    await queue.close();
  }
}
