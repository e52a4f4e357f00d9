import { type Database, resent } from '../lambda/database.ts';
import type { Invocation } from '../lambda/http.ts';
import type { JobDetails } from '../queue/get.ts';
import { look } from '../queue/look.ts';
import { Waiters } from '../queue/waiters.ts';

/** Milliseconds that stay for reading the job at last, and for answering before the frame gives the request up. */
const MARGIN_MS = 2000;

/** Those of this process, by its connection. */
const WAITERS = new WeakMap<Database, Waiters>();

interface Found {
  readonly job: JobDetails | undefined;
  /** It was not waited for, or no longer: too many wait. */
  readonly crowded: boolean;
}

/**
 * The job once it has ended, or as it is when the time is up: after `seconds`, or what the invocation has left. Between looks
 * the connection is free for others, and a look that meets a lost connection is made again on the next one.
 */
export async function readOnceEnded(
  read: () => Promise<JobDetails | undefined>,
  db: Database,
  seconds: number,
  { context, signal }: Invocation,
): Promise<Found> {
  const latest = Date.now() + Math.min(seconds * 1000, context.getRemainingTimeInMillis() - MARGIN_MS);
  for (;;) {
    const job = await read();
    const ms = latest - Date.now();
    if (job === undefined || hasEnded(job) || ms <= 0) return { job, crowded: false };
    const waited = await waitersOf(db).wait(job.id, ms, signal);
    // Otherwise it has ended, or has been redriven since: then it is waited for again.
    if (waited !== 'ended') return { job: await read(), crowded: waited === 'crowded' };
  }
}

function hasEnded({ status }: JobDetails): boolean {
  return status !== 'pending' && status !== 'processing';
}

function waitersOf(db: Database): Waiters {
  const known = WAITERS.get(db) ?? new Waiters((ids) => resent(() => look(db, ids)));
  WAITERS.set(db, known);
  return known;
}
