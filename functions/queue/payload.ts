import { types } from 'node:util';
import type * as z from 'zod';
import { $ZodAsyncError } from 'zod/v4/core';
import { CodecError, type Envelope, isEnvelope } from './codec.ts';
import type { Contract, Contracts } from './contract.ts';
import { MillraceError } from './errors.ts';
import type { ClaimedJob } from './job.ts';
import { contractOf } from './kinds.ts';
import { envelopesOfDeath } from './sealed-parts.ts';
import { isThenable } from './thenable.ts';
import { openEnvelope, unseal } from './unseal.ts';
import { flawsOfIssues } from './zod-flaws.ts';

/** A stored payload does not fit its kind's contract (any more): contracts change while jobs wait, so it is retried. */
export class PayloadError extends MillraceError {
  static override readonly name: string = 'PayloadError';
  readonly code = 'payload';
}

/**
 * The payload of a claimed job as its processor is given it: opened if it is sealed, upcast, parsed. A promise only if it is
 * sealed or the schema has asynchronous parts.
 * @param contracts all of them: what died may be of another kind than the job that tells of it
 * @throws PayloadError, or what a refinement or transform of the schema threw
 */
export function readPayload(
  contract: Contract,
  job: Pick<ClaimedJob, 'kind' | 'payload'>,
  contracts: Contracts,
): unknown | Promise<unknown> {
  const plain = opened(job, contracts);
  if (isThenable(plain)) return plain.then((payload) => readPlain(contract, job.kind, payload));
  return readPlain(contract, job.kind, plain);
}

/** The same for a payload that is not sealed. `upcast` may change what it is given. */
export function readPlain(contract: Contract, kind: string, payload: unknown): unknown | Promise<unknown> {
  return parsePayload(contract.payload, readByUpcast(contract, kind, payload));
}

/**
 * The payload as the contract reads it. A promise only if the schema has asynchronous parts.
 * @throws PayloadError naming each field, or what a refinement or transform of the schema threw
 */
export function parsePayload(schema: z.ZodType, payload: unknown): unknown | Promise<unknown> {
  try {
    return fitting(schema.safeParse(payload));
  } catch (error) {
    if (error instanceof $ZodAsyncError) return schema.safeParseAsync(payload).then(fitting);
    throw error;
  }
}

function fitting(parsed: z.ZodSafeParseResult<unknown>): unknown {
  if (parsed.success) return parsed.data;
  const flaws = flawsOfIssues(parsed.error.issues).map(({ pointer, detail }) => `${pointer || 'payload'}: ${detail}`);
  throw new PayloadError(`the payload does not fit its contract: ${flaws.join('; ')}`);
}

function readByUpcast(contract: Contract, kind: string, payload: unknown): unknown {
  try {
    return upcasted(contract, kind, payload);
  } catch (error) {
    throw new PayloadError('the payload does not fit its contract: upcast threw', { cause: error });
  }
}

/**
 * What `upcast` makes of a payload. It may change what it is given.
 * @throws what upcast threw; TypeError for a promise: to a schema with no required field it would be a payload without content
 */
export function upcasted({ upcast }: Pick<Contract, 'upcast'>, kind: string, payload: unknown): unknown {
  if (upcast === undefined) return payload;
  const today = upcast(payload, kind);
  if (!types.isPromise(today)) return today;
  today.catch(() => {});
  throw new TypeError('upcast gave a promise, and must not be asynchronous');
}

/** Envelopes lie where the engine puts them and nowhere else: one that somebody has copied into a payload stays closed. */
function opened({ kind, payload }: Pick<ClaimedJob, 'kind' | 'payload'>, contracts: Contracts) {
  if (isEnvelope(payload)) return openOwn(kind, payload, contracts).catch(unreadable);
  if (envelopesOfDeath({ kind, payload }, contracts).length === 0) return payload;
  return openDeath(payload as object, contracts).catch(unreadable);
}

async function openOwn(kind: string, envelope: Envelope, contracts: Contracts): Promise<unknown> {
  const { kind: sealedFor } = envelope.$sealed;
  if (sealedFor !== kind && contractOf(contracts, sealedFor) !== contractOf(contracts, kind)) {
    throw new CodecError(`it is sealed for the kind "${sealedFor}"`);
  }
  return openEnvelope(contracts, envelope);
}

/** See `onDead` of defineJob. */
async function openDeath(death: object, contracts: Contracts): Promise<unknown> {
  const { payload, error } = death as { payload?: unknown; error?: { sealed?: unknown } };
  return {
    ...death,
    ...(isEnvelope(payload) && { payload: await openEnvelope(contracts, payload) }),
    ...(isEnvelope(error?.sealed) && { error: await unseal(contracts, error) }),
  };
}

function unreadable(error: unknown): never {
  const why = error instanceof CodecError ? error.message : 'an unforeseen error';
  // No cause: of what a codec threw only the class is told.
  throw new PayloadError(`the payload is sealed and cannot be opened: ${why}`);
}
