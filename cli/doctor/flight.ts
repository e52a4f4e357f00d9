import { CANARY } from '../../functions/queue/canary.ts';
import { deferred } from '../../local/promise.ts';
import { CliError } from '../cli-error.ts';
import type { QueueAccess } from '../queue.ts';
import type { Deployment } from './deployment.ts';
import { duration } from './duration.ts';
import { type Finding, failed, NotKnownError, warning } from './finding.ts';

const SEE = 'docs/doctor.md#canary';

export interface Flight {
  /** Seconds from when it was due to its start, by the database's clock. */
  readonly pickup: number;
  /** Seconds from before it was put in until its end was known here. */
  readonly roundTrip: number;
}

/** Sends one canary through. Resolves how it went, or what there is to say if it did not come back. */
export async function fly(deployment: Deployment, way: QueueAccess, queue: string): Promise<Flight | Finding> {
  const began = performance.now();
  // One at a time waits in a queue: what a doctor before this one could not cancel is not followed by others.
  const job = {
    kind: CANARY,
    payload: {},
    queue,
    maxAttempts: 1,
    uniqueKey: `doctor:${queue}`,
    replace: ['run_at'],
  } as const;
  let id: string;
  try {
    ({ id } = await way.enqueue(job));
  } catch (error) {
    return refused(error);
  }
  try {
    const { status, runAt, startedAt, errors } = await ended(deployment, way, id);
    const roundTrip = (performance.now() - began) / 1000;
    if (status === 'completed')
      return { pickup: (Date.parse(String(startedAt)) - Date.parse(runAt)) / 1000, roundTrip };
    const last = errors.at(-1);
    const how = status === 'dead' ? `died: ${last?.name}: ${last?.message}` : 'was cancelled by somebody else';
    return failed(`the canary ${how}`, {
      remedy: 'Look into the log of the worker.',
      see: 'docs/runbook.md#dead-letters',
    });
  } catch (error) {
    const left = await takenBack(deployment, way, id);
    if (!(error instanceof CliError) || error.code !== 'timed-out') throw error;
    return left;
  }
}

/** A release from before the canary, or one whose enqueue function is older than its workers. */
function refused(error: unknown): Finding {
  if (!(error instanceof CliError)) throw error;
  if (error.code === 'unknown-kind') {
    const remedy = `Deploy this release. Until then put in a job of your own, and watch it with npx millrace show.`;
    return warning('none was sent: what is deployed is of an older release, which has no canary', { remedy, see: SEE });
  }
  if (error.code === 'schema-outdated') throw error;
  if (error.code === 'forbidden') throw new NotKnownError('takes a login that is a member of millrace_producer');
  return failed(`none could be put in: ${error.message}`, {
    remedy: 'Mend what the other checks say first.',
    see: SEE,
  });
}

/** Resolves the job once it has ended. @throws CliError `timed-out`, or the reason of the signal */
async function ended(deployment: Deployment, way: QueueAccess, id: string) {
  const { deadlineSeconds: timeoutSeconds, signal } = deployment.options;
  const stopped = deferred<undefined>();
  const stop = () => stopped.resolve(undefined);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  const waiting = way.waitFor(id, { timeoutSeconds, include: [] });
  const job = await Promise.race([waiting, stopped.promise]).finally(() => signal?.removeEventListener('abort', stop));
  if (job !== undefined) return job;
  // It goes on for a moment, and nobody hears how it ends.
  waiting.catch(() => {});
  throw signal?.reason;
}

/** It is cancelled, so that nothing waits for a worker that does not come. Resolves what there is to say of it. */
async function takenBack(deployment: Deployment, way: QueueAccess, id: string): Promise<Finding> {
  const { status } = await way.get(id).catch(() => ({ status: 'pending' }));
  const gone = await cancelled(way, id).then(
    (done) => done || (deployment.sql !== undefined && cancelled(deployment.bySql(), id)),
  );
  const after = `within ${duration(deployment.options.deadlineSeconds)}`;
  const rest = gone ? 'it is cancelled' : 'it stays, since cancelling takes the role operator: the next worker does it';
  if (status === 'pending') {
    const remedy = 'Look whether the worker of this queue starts each minute, and how its runs end.';
    return failed(`no worker has picked it up ${after}; ${rest}`, { remedy, see: 'docs/runbook.md#no-tick' });
  }
  const remedy = 'The worker has taken it and does not end it: look into its log.';
  return failed(`it was picked up and has not ended ${after}; ${rest}`, {
    remedy,
    see: 'docs/runbook.md#reaped-leases',
  });
}

/** Also if it has ended meanwhile. */
async function cancelled(way: QueueAccess, id: string): Promise<boolean> {
  return way.cancel(id).then(
    () => true,
    (error: unknown) => error instanceof CliError && error.code === 'wrong-state',
  );
}
