import { v7 as uuidv7 } from 'uuid';
import { type Database, resent } from '../lambda/database.ts';
import type { HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { requestIdOf, traceparentOf } from '../lambda/request-id.ts';
import { type Enqueued, hasKey, insertJob, insertJobs, type NewJob } from '../queue/enqueue.ts';
import { IdempotencyKeyReusedError } from '../queue/errors.ts';
import { sqlState } from '../queue/postgres-error.ts';

/** How long a request waits for another transaction that holds one of its keys. */
const PATIENCE = { lockTimeoutMs: 3000 };
const LOCK_NOT_AVAILABLE = '55P03';

/** Where a job lies in the body. */
type PlaceOf = (index: number) => { readonly pointer: string; readonly index?: number };

/**
 * Puts the jobs of a request in, all or none, and answers in their order.
 * The ids are made here, so that sending again what may have arrived already changes nothing.
 */
export async function put(
  db: Database,
  event: HttpEvent,
  jobs: readonly NewJob[],
  placeOf: PlaceOf,
): Promise<Enqueued[]> {
  const requestId = requestIdOf(event);
  const traceparent = traceparentOf(event);
  const sent = jobs.map((job) => ({ ...job, id: uuidv7(), requestId, traceparent }));
  const [first, ...others] = sent as [NewJob, ...NewJob[]];
  try {
    if (others.length > 0) return await resent(() => insertJobs(db, sent, PATIENCE));
    return [await resent(() => insertJob(db, first, PATIENCE))];
  } catch (error) {
    throw keyProblem(error, jobs, placeOf) ?? error;
  }
}

function keyProblem(error: unknown, jobs: readonly NewJob[], placeOf: PlaceOf): ProblemError | undefined {
  if (error instanceof IdempotencyKeyReusedError) {
    const detail = 'stands for a job of the same kind with another payload; send another key';
    return new ProblemError('idempotency-key-reused', `The ${error.message}.`, {
      flaws: error.indexes.map(placeOf).map((place) => ({
        ...place,
        pointer: `${place.pointer}/idempotency_key`,
        detail,
      })),
    });
  }
  if (sqlState(error) === LOCK_NOT_AVAILABLE && jobs.some(hasKey)) {
    const detail = 'Another transaction holds one of its keys and has not ended for 3 s; send it again.';
    return new ProblemError('key-in-use', detail, { cause: error });
  }
  return undefined;
}
