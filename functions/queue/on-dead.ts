import type { Contracts } from './contract.ts';
import type { JobId } from './job.ts';
import { kindsByName } from './kinds.ts';

/** Where the job goes that is put in for a dead one: as its kind's contract says. */
export interface OnDeadJob {
  readonly kind: string;
  readonly queue: string;
  readonly maxAttempts: number;
}

/** Which job is put in for one that dies, by the name that the dead one has: kinds and their aliases. */
export type OnDeadJobs = ReadonlyMap<string, OnDeadJob>;

export interface OnDead {
  readonly jobs: OnDeadJobs;
  /** Told of each dead job that has none, since the database would not take it, and why. It is buried all the same. */
  readonly refused: (job: { readonly id: JobId; readonly kind: string }, reason: string) => void;
}

/** @throws RangeError if one name means two kinds, or an `onDead` is no kind or has an `onDead` of its own */
export function onDeadJobs(contracts: Contracts): OnDeadJobs {
  const jobs = new Map<string, OnDeadJob>();
  for (const [name, { contract }] of kindsByName(contracts)) {
    const kind = contract.onDead;
    const own = kind === undefined ? undefined : contracts[kind];
    if (kind !== undefined && own) jobs.set(name, { kind, queue: own.queue, maxAttempts: own.maxAttempts });
  }
  return jobs;
}

/** The jobs as the burying statements take them: an array for each column of `ON_DEAD`. */
export function onDeadColumns(jobs: OnDeadJobs = new Map()): [string[], string[], string[], number[]] {
  const all = [...jobs.values()];
  return [
    [...jobs.keys()],
    all.map(({ kind }) => kind),
    all.map(({ queue }) => queue),
    all.map(({ maxAttempts }) => maxAttempts),
  ];
}

/** Of the dead in `d` and the jobs to be put in for their kinds in `o` (dead, kind, queue, max_attempts). */
export const DEATHS = `array_agg(ROW(
  d.id, d.kind, d.queue, d.subject, d.attempts, d.created_at, d.started_at, d.error, d.request_id, d.traceparent,
  o.kind, o.queue, o.max_attempts)::millrace.death)`;
