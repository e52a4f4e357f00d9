import type { Job } from './job.ts';
import type { KindOf, Kinds, PayloadOf } from './kinds.ts';
import { snakeCased } from './names.ts';
import { type Call, pathOf } from './request.ts';

/** What an enqueue may say of its job. What is left out comes from the kind's contract, or is the default. */
export interface JobOptions {
  /** The lane: 1 to 100 letters, digits and `. _ : -`, the first a letter or digit. */
  readonly queue?: string | undefined;
  /** The caller's own id for what the job is about, 1 to 255 characters; need not be unique. */
  readonly subject?: string | undefined;
  /** −5 to 5, higher first. Default 0. */
  readonly priority?: number | undefined;
  /** Not before then; text needs a zone. A past one counts as now. Default now. */
  readonly runAt?: string | Date | undefined;
  /** Seconds from now by the database's clock, up to ten years, in place of `runAt`. */
  readonly delaySeconds?: number | undefined;
  /** 1 to 1,000. */
  readonly maxAttempts?: number | undefined;
  /** 1 to 255 characters. The same key, kind and payload make one job, whoever sends them. Default: random. */
  readonly idempotencyKey?: string | undefined;
  /**
   * 1 to 255 characters. At most one pending job of a kind has this key: while there is one, it stands for the new one
   * (`kept`, `replaced`).
   */
  readonly uniqueKey?: string | undefined;
  /** `live`: at most one that is pending or processing. Default `pending`, so that a change made while one runs gets a run. */
  readonly uniqueWhile?: 'pending' | 'live' | undefined;
  /** What the pending job with the same unique key takes over from this one. Default: nothing. */
  readonly replace?: readonly ('payload' | 'run_at')[] | undefined;
}

/** One job of a batch. */
export type NewJob<C extends Kinds> = {
  readonly [Kind in KindOf<C>]: JobOptions & { readonly kind: Kind; readonly payload: PayloadOf<C, Kind> };
}[KindOf<C>];

export interface Enqueued {
  /** Of the new job, or of the one that stands for it. */
  readonly id: string;
  /** `replayed`: the idempotency key was used before. `kept`, `replaced`: a job with the unique key was there. */
  readonly outcome: 'created' | 'replayed' | 'kept' | 'replaced';
  /** Replayed, and its job's record is gone by now. */
  readonly pruned: boolean;
}

/** `job`: undefined if it is pruned, or could not be read back. */
export type EnqueuedJob = Enqueued & { readonly job: Job | undefined };

interface Named {
  readonly kind: string;
  readonly payload: unknown;
}

export function enqueueCall(kind: string, payload: unknown, options: JobOptions): Call<EnqueuedJob> {
  return {
    method: 'POST',
    path: pathOf`/jobs`,
    body: wireJob({ ...options, kind, payload }),
    read: ({ outcome, pruned, ...job }: Enqueued & Partial<Job>) => ({
      ...enqueued({ id: job.id, outcome, pruned }, options),
      job: job.status === undefined ? undefined : (job as Job),
    }),
  };
}

/** Jobs of one batch. */
const MAX_JOBS = 1000;

/** @throws RangeError for more than 1,000: in parts they would not be stored all or none, so who sends them must part them */
export function batchCall(jobs: readonly (JobOptions & Named)[]): Call<Enqueued[]> {
  if (jobs.length > MAX_JOBS) {
    throw new RangeError(
      `a batch holds at most 1,000 jobs, not ${jobs.length}: it is stored as a whole or not at all, so send several`,
    );
  }
  return {
    method: 'POST',
    path: pathOf`/jobs/batch`,
    body: { jobs: jobs.map(wireJob) },
    read: (body: { jobs: Enqueued[] }) => {
      if (body.jobs.length !== jobs.length) throw new Error('another number of jobs');
      return jobs.map((job, at) => enqueued(body.jobs[at] as Enqueued, job));
    },
  };
}

/** The key is made here, once for all tries: an answer that got lost makes no second job. */
function wireJob({ kind, payload, idempotencyKey = crypto.randomUUID(), ...options }: JobOptions & Named) {
  return snakeCased({ kind, payload, ...options, idempotencyKey });
}

function enqueued({ id, outcome, pruned }: Enqueued, { idempotencyKey, uniqueKey }: JobOptions): Enqueued {
  if (typeof id !== 'string' || typeof outcome !== 'string') throw new Error('no id or outcome');
  // A random key that was there before: a try of this very call made the job, and its answer got lost.
  const isOurs = outcome === 'replayed' && idempotencyKey === undefined && uniqueKey === undefined;
  return { id, outcome: isOurs ? 'created' : outcome, pruned: pruned === true };
}
