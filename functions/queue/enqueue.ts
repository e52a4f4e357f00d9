import type * as z from 'zod';
import type { Contract, Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { MillraceError } from './errors.ts';
import type { JobId } from './job.ts';
import { parsePayload } from './payload.ts';
import { assertStorable } from './storable.ts';

export interface NewJob {
  /** Given: an enqueue that is sent again with it changes nothing and answers the same. Default: a new UUIDv7. */
  readonly id?: JobId | undefined;
  readonly kind: string;
  readonly payload: unknown;
  /** ISO 8601 with a zone. A past one counts as now. Default now. */
  readonly runAt?: string | undefined;
  /** Seconds from the database's now, in place of `runAt`. */
  readonly delaySeconds?: number | undefined;
  /** −5 to 5, default 0. */
  readonly priority?: number | undefined;
  /** Default `default`. */
  readonly queue?: string | undefined;
  /** The caller's own id for what the job is about, 1 to 255 characters; need not be unique. */
  readonly subject?: string | undefined;
  /** 1 to 1,000, default 5. */
  readonly maxAttempts?: number | undefined;
}

export type TypedJob<C extends Contracts, Kind extends keyof C & string> = Omit<NewJob, 'kind' | 'payload'> & {
  readonly kind: Kind;
  readonly payload: z.input<C[Kind]['payload']>;
};

/** A kind that the given contracts do not have; in TypeScript it does not compile. */
export class UnknownKindError extends MillraceError {
  readonly code = 'unknown_kind';
}

const ENQUEUE = `
SELECT millrace.enqueue(
  kind => $1,
  payload => $2::jsonb,
  run_at => coalesce($3::timestamptz, clock_timestamp() + make_interval(secs => $4::float8)),
  priority => coalesce($5::int, 0),
  queue => coalesce($6, 'default'),
  subject => $7,
  max_attempts => coalesce($8::int, 5),
  id => $9::uuid
) AS id`;

/** Puts a job in as it is. The database refuses what is out of bounds (SQLSTATE 23514). */
export async function insertJob(db: Db, job: NewJob): Promise<JobId> {
  const { rows } = await db.query<{ id: JobId }>(ENQUEUE, [
    job.kind,
    JSON.stringify(job.payload) ?? 'null',
    job.runAt,
    job.delaySeconds,
    job.priority,
    job.queue,
    job.subject,
    job.maxAttempts,
    job.id,
  ]);
  return (rows[0] as { id: JobId }).id;
}

/**
 * Puts a job in with the caller's own client, so that it joins the transaction that is open there: it becomes visible to
 * workers with the commit, and never if that rolls back. `queue` and `maxAttempts` default to the contract's.
 * @throws PayloadError, UnstorableError or UnknownKindError before anything is sent: the transaction stays usable
 */
export async function enqueue<C extends Contracts, Kind extends keyof C & string>(
  client: Db,
  contracts: C,
  job: TypedJob<C, Kind>,
): Promise<JobId> {
  const contract: Contract | undefined = Object.hasOwn(contracts, job.kind) ? contracts[job.kind] : undefined;
  if (!contract) {
    const known = Object.keys(contracts).join(', ') || 'none';
    throw new UnknownKindError(`kind "${job.kind}" has no contract; known kinds: ${known}`);
  }
  // What the worker will read is what must fit: JSON turns a Date into text, and leaves undefined out.
  const stored: unknown = JSON.parse(assertStorable(job.payload));
  await parsePayload(contract.payload, stored);
  const { queue = contract.queue, maxAttempts = contract.maxAttempts } = job;
  return insertJob(client, { ...job, payload: stored, queue, maxAttempts });
}
