import type * as z from 'zod';
import type { Contract, Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { type Enqueued, insertJob, insertJobs, MAX_JOBS, type NewJob } from './enqueue.ts';
import { UnknownKindError } from './errors.ts';
import type { JobId } from './job.ts';
import { parsePayload } from './payload.ts';
import { assertStorable } from './storable.ts';

/** A job of one of the kinds, with the payload that its contract takes. */
export type TypedJob<C extends Contracts, Kind extends keyof C & string = keyof C & string> = {
  [K in Kind]: Omit<NewJob, 'kind' | 'payload'> & { readonly kind: K; readonly payload: z.input<C[K]['payload']> };
}[Kind];

/**
 * Puts a job in with the caller's own client, so that it joins the transaction that is open there: it becomes visible to
 * workers with the commit, and never if that rolls back. `queue` and `maxAttempts` default to the contract's. Resolves the
 * id of the job, or of the one that stands for it (`idempotencyKey`, `uniqueKey`).
 * @throws PayloadError, UnstorableError or UnknownKindError before anything is sent: the transaction stays usable;
 * IdempotencyKeyReusedError, and what the database says
 */
export async function enqueue<C extends Contracts, Kind extends keyof C & string>(
  client: Db,
  contracts: C,
  job: TypedJob<C, Kind>,
): Promise<JobId> {
  return (await insertJob(client, await fitting(contracts, job))).id;
}

/**
 * The same for up to 1,000 jobs, all or none, in one statement. Resolves what became of each, in their order.
 * @throws as enqueue; messages name the job (`jobs[3]: …`). RangeError for more than 1,000
 */
export async function enqueueMany<C extends Contracts>(
  client: Db,
  contracts: C,
  jobs: readonly TypedJob<C>[],
): Promise<Enqueued[]> {
  if (jobs.length > MAX_JOBS) throw new RangeError(`enqueueMany takes up to ${MAX_JOBS} jobs, not ${jobs.length}`);
  const fit: NewJob[] = [];
  for (const [index, job] of jobs.entries()) fit.push(await fitting(contracts, job).catch(naming(index)));
  return fit.length === 0 ? [] : insertJobs(client, fit);
}

/** The job as it is stored, if its kind's contract takes it. */
async function fitting(contracts: Contracts, job: NewJob): Promise<NewJob> {
  const contract: Contract | undefined = Object.hasOwn(contracts, job.kind) ? contracts[job.kind] : undefined;
  if (!contract) {
    const known = Object.keys(contracts).join(', ') || 'none';
    throw new UnknownKindError(`kind "${job.kind}" has no contract; known kinds: ${known}`);
  }
  // What the worker will read is what must fit: JSON turns a Date into text, and leaves undefined out.
  const payload: unknown = JSON.parse(assertStorable(job.payload));
  await parsePayload(contract.payload, payload);
  const { queue = contract.queue, maxAttempts = contract.maxAttempts } = job;
  return { ...job, payload, queue, maxAttempts };
}

function naming(index: number): (error: unknown) => never {
  return (error) => {
    if (error instanceof Error) error.message = `jobs[${index}]: ${error.message}`;
    throw error;
  };
}
