import type { Database } from '../lambda/database.ts';
import { type HttpEvent, logOf } from '../lambda/http.ts';
import { wake } from '../lambda/wake.ts';
import { DEFAULTS } from '../queue/contract.ts';
import type { Enqueued, NewJob } from '../queue/enqueue.ts';

/** Milliseconds by which this machine's clock may differ from the database's, which alone says what is due. */
const CLOCK_MS = 1000;

/** Wakes the workers of the queues into which a request has put something that is due: to be called after its commit. */
export async function wakeWorkers(
  event: HttpEvent,
  db: Database,
  jobs: readonly NewJob[],
  enqueued: readonly Enqueued[],
): Promise<void> {
  const due = jobs.filter((job, at) => isNews(job, enqueued[at]) && isDue(job));
  await wake(db, [...new Set(due.map(({ queue = DEFAULTS.queue }) => queue))], logOf('enqueue', event));
}

/** Whoever put the other job in that stands for this one has woken workers, or its time had not come. */
function isNews({ replace }: NewJob, put: Enqueued | undefined): boolean {
  if (put?.outcome === 'replaced') return replace?.includes('run_at') === true;
  return put?.outcome === 'created' && !put.pruned;
}

function isDue({ runAt, delaySeconds = 0 }: NewJob): boolean {
  const waitMs = runAt === undefined ? delaySeconds * 1000 : Date.parse(runAt) - Date.now();
  return waitMs <= CLOCK_MS;
}
