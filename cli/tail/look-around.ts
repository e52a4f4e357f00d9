import type { Job, ListedJob, Status } from '../../client/job.ts';
import { CliError } from '../cli-error.ts';
import type { QueueAccess } from '../queue.ts';
import type { Changes } from './changes.ts';

/** Jobs of a page. */
const PAGE = 200;
/** Pages of new jobs that one look reads; a queue that takes in more of them between two looks is no longer read by people. */
const MAX_PAGES = 5;
/** Jobs that are looked at one by one. */
const MOST_RUN = 100;
const MOST_WAIT = 10;

/**
 * What one look sees: the newest jobs, back to the first that was seen before; those that run, and those that died; and of
 * the ones that have gone out of sight, what became of them.
 */
export async function lookAround(queue: QueueAccess, kind: string | undefined, changes: Changes): Promise<ListedJob[]> {
  const seen = await newest(queue, kind, changes);
  for (const status of ['processing', 'dead'] as const) seen.push(...(await firstPage(queue, kind, status)));
  const missing = [...changes.unseen('processing', seen, MOST_RUN), ...changes.unseen('pending', seen, MOST_WAIT)];
  for (const id of missing) seen.push(...(await one(queue, id, changes)));
  return seen;
}

async function newest(queue: QueueAccess, kind: string | undefined, changes: Changes): Promise<ListedJob[]> {
  const seen: ListedJob[] = [];
  let pages = 0;
  for await (const { jobs } of queue.pages({ kind }, PAGE)) {
    seen.push(...jobs);
    pages++;
    if (changes.isFresh || pages === MAX_PAGES || jobs.some(({ id }) => changes.knows(id))) break;
  }
  return seen;
}

async function firstPage(queue: QueueAccess, kind: string | undefined, status: Status): Promise<readonly ListedJob[]> {
  for await (const { jobs } of queue.pages({ kind, status }, PAGE)) return jobs;
  return [];
}

async function one(queue: QueueAccess, id: string, changes: Changes): Promise<ListedJob[]> {
  try {
    return [asListed(await queue.get(id))];
  } catch (error) {
    if (!(error instanceof CliError && error.code === 'no-such-job')) throw error;
    changes.forget(id);
    return [];
  }
}

function asListed({ errors, ...job }: Job): ListedJob {
  const last = errors.at(-1);
  if (last === undefined) return { ...job, lastError: null };
  const { stack: _, ...lastError } = last;
  return { ...job, lastError };
}
