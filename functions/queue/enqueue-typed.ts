import type * as z from 'zod';
import type { Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { type Enqueued, insertJob, insertJobs, MAX_JOBS, type NewJob } from './enqueue.ts';
import { UnknownKindError } from './errors.ts';
import type { JobId } from './job.ts';
import { contractOf, knownKinds } from './kinds.ts';
import { PayloadError, readPlain } from './payload.ts';
import { sealPayload } from './seal.ts';
import { holdsSealed } from './sealed-parts.ts';
import { assertStorable } from './storable.ts';

/** A job of one of the kinds, with the payload that its contract takes. */
export type TypedJob<C extends Contracts, Kind extends keyof C & string = keyof C & string> = {
  [K in Kind]: Omit<NewJob, 'kind' | 'payload'> & { readonly kind: K; readonly payload: z.input<C[K]['payload']> };
}[Kind];

/**
 * Puts a job in with the caller's own client, so that it joins the transaction that is open there: it becomes visible to
 * workers with the commit, and never if that rolls back. `queue` and `maxAttempts` default to the contract's. Resolves the
 * id of the job, or of the one that stands for it (`idempotencyKey`, `uniqueKey`).
 * An alias is taken as well, and stays its name: TypeScript knows kinds alone, so write `kind: 'old.name' as 'new.name'`.
 * @throws PayloadError, UnstorableError, UnknownKindError or CodecError before anything is sent: the transaction stays usable;
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
  const contract = contractOf(contracts, job.kind);
  if (!contract) {
    throw new UnknownKindError(`kind "${job.kind}" has no contract; known kinds: ${knownKinds(contracts)}`);
  }
  // What the worker will read is what must fit: JSON turns a Date into text, and leaves undefined out.
  const text = assertStorable(job.payload);
  const plain: unknown = JSON.parse(text);
  if (holdsSealed({ kind: job.kind, payload: plain }, contracts)) {
    throw new PayloadError('the payload is or holds a sealed value: enqueue it in clear');
  }
  // A copy of its own if something may change it: what is stored is what was sent.
  await readPlain(contract, job.kind, contract.upcast === undefined ? plain : JSON.parse(text));
  const payload = await sealPayload(contract, job.kind, plain);
  const { queue = contract.queue, maxAttempts = contract.maxAttempts } = job;
  return { ...job, payload, queue, maxAttempts };
}

function naming(index: number): (error: unknown) => never {
  return (error) => {
    if (error instanceof Error) error.message = `jobs[${index}]: ${error.message}`;
    throw error;
  };
}
