/**
 * Starts workers for jobs that were put in by SQL or by `enqueue`, where none waits for them (`pickup` 'instant' or 'minute'):
 *
 *     await wake(client);
 *
 * Over HTTP the API does it.
 */
import { wakeWorkers } from '../functions/lambda/wake.ts';
import type { Db } from '../functions/queue/db.ts';

export type { Db } from '../functions/queue/db.ts';

/** What came of a wake. */
export interface Woken {
  /** Names of the functions that were started. None, if somebody claims already, or was told to within the last 2 s. */
  readonly started: readonly string[];
  /** Why workers could not be woken: the next tick finds the jobs. Undefined if nothing went wrong. */
  readonly error?: unknown;
}

/**
 * Starts the workers of the queues, unless somebody claims for them. Call it after the commit of what put the jobs in, outside
 * a transaction, and await it: a Lambda is frozen once it has answered. It names the workers by the variable
 * WAKE_FUNCTIONS (`queue.wakeFunctions`), and may start them by `queue.grantWake(caller)`; without the variable it does
 * nothing. Region and credentials are the environment's.
 *
 * Never rejects, since the jobs are in; waits for Lambda for a second at most. If it fails they wait for the next tick.
 * @param client - connected as a role that may enqueue, as `enqueue` takes it: a `pg` Client, PoolClient or Pool
 * @param queues - @default - those of all workers
 */
export async function wake(client: Db, queues?: readonly string[]): Promise<Woken> {
  const { functions, error } = await wakeWorkers(client, queues ?? 'all');
  return error === undefined ? { started: functions } : { started: [], error };
}
