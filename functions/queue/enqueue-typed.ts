import type * as z from 'zod';
import type { Contract, Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { type Enqueued, insertItems, insertWith, itemOf, MAX_JOBS, type NewJob } from './enqueue.ts';
import { UnknownKindError } from './errors.ts';
import type { JobId } from './job.ts';
import { contractOf, knownKinds } from './kinds.ts';
import { PayloadError, readPlain } from './payload.ts';
import { sealPayload } from './seal.ts';
import { holdsSealed } from './sealed-parts.ts';
import { assertStorable } from './storable.ts';
import { isThenable } from './thenable.ts';

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
  const contract = contractFor(contracts, job.kind);
  const payload = await storedPayload(contracts, contract, job);
  return (await insertWith(client, withDefaults(contract, job), payload)).id;
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
  const items: string[] = [];
  for (const [index, job] of jobs.entries()) {
    try {
      const contract = contractFor(contracts, job.kind);
      const payload = storedPayload(contracts, contract, job);
      // Nearly all are there at once, and to await them would cost more than to ask.
      items.push(itemOf(withDefaults(contract, job), typeof payload === 'string' ? payload : await payload));
    } catch (error) {
      if (error instanceof Error) error.message = `jobs[${index}]: ${error.message}`;
      throw error;
    }
  }
  return items.length === 0 ? [] : insertItems(client, items);
}

function contractFor(contracts: Contracts, kind: string): Contract {
  const contract = contractOf(contracts, kind);
  if (contract !== undefined) return contract;
  throw new UnknownKindError(`kind "${kind}" has no contract; known kinds: ${knownKinds(contracts)}`);
}

function withDefaults(contract: Contract, job: NewJob): NewJob {
  const { queue = contract.queue, maxAttempts = contract.maxAttempts } = job;
  return { ...job, queue, maxAttempts };
}

/**
 * JSON of the payload as it is stored, if its kind's contract takes it: what is stored is what was sent. A promise only if it is
 * to be sealed or the schema has asynchronous parts.
 */
function storedPayload(contracts: Contracts, contract: Contract, { kind, payload }: NewJob): string | Promise<string> {
  const text = assertStorable(payload);
  // What the worker will read is what must fit: JSON turns a Date into text, and leaves undefined out.
  const plain: unknown = JSON.parse(text);
  if (holdsSealed({ kind, payload: plain }, contracts)) {
    throw new PayloadError('the payload is or holds a sealed value: enqueue it in clear');
  }
  const read = readPlain(contract, kind, plain);
  return isThenable(read) || contract.codec !== undefined ? onceRead(read, contract, kind, text) : text;
}

/** `read`: what the schema made of the payload, which rejects if it does not fit. */
async function onceRead(read: unknown, contract: Contract, kind: string, text: string): Promise<string> {
  await read;
  return contract.codec === undefined ? text : JSON.stringify(await sealPayload(contract, kind, JSON.parse(text)));
}
