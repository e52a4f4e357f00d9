import { AssertionError } from 'node:assert';
import type * as z from 'zod';
import type { Contract, Contracts } from '../functions/queue/contract.ts';
import type { Db } from '../functions/queue/db.ts';
import { PayloadError, readPayload } from '../functions/queue/payload.ts';
import { unseal } from '../functions/queue/unseal.ts';
import { contractOf } from './contract-of.ts';
import { type EnqueuedJob, enqueued } from './enqueued.ts';
import { type DeepPartial, mismatches, shown } from './mismatch.ts';

/** A job's kind, and what else matters of it. */
export type WantedJob<C extends Contracts, Kind extends keyof C & string> = DeepPartial<
  Omit<EnqueuedJob, 'kind' | 'payload'>
> & {
  readonly kind: Kind;
  /** A part of it as it is stored: JSON, so a Date is text there. */
  readonly payload?: DeepPartial<z.input<C[Kind]['payload']>>;
};

/** Jobs that a message shows; more help nobody. */
const SHOWN = 5;

/**
 * Resolves the oldest job put in since the client's transaction began that fits `wanted` in the members that it has, and
 * whose payload its contract can read.
 * @throws AssertionError saying which jobs there are instead and where they differ
 * @throws UnknownKindError for a kind that has no contract
 * @throws NoTransactionError if no transaction is open
 */
export async function assertEnqueued<C extends Contracts, Kind extends keyof C & string>(
  client: Db,
  contracts: C,
  wanted: WantedJob<C, Kind>,
): Promise<EnqueuedJob<z.input<C[Kind]['payload']>>> {
  const contract = contractOf(contracts, wanted.kind);
  const expected = JSON.parse(JSON.stringify(wanted)) as typeof wanted;
  const all = await opened(contracts, await enqueued(client));
  const found = all.find((job) => mismatches(expected, job).length === 0);
  if (!found) {
    const actual = all.filter((job) => job.kind === wanted.kind);
    throw failure(missingMessage(expected, actual, all), expected, actual);
  }
  await assertReadable(contract, found, contracts);
  return found as EnqueuedJob<z.input<C[Kind]['payload']>>;
}

/** What is sealed is compared by what it holds. */
async function opened(contracts: Contracts, jobs: readonly EnqueuedJob[]): Promise<EnqueuedJob[]> {
  return Promise.all(
    jobs.map(async (job) => ({ ...job, payload: await unseal(contracts, job.payload).catch(() => job.payload) })),
  );
}

function missingMessage(wanted: { kind: string }, ofKind: readonly EnqueuedJob[], all: readonly EnqueuedJob[]): string {
  const what = `no job ${shown(wanted)} was enqueued in this transaction`;
  if (all.length === 0) return `${what}, and no other either`;
  if (ofKind.length === 0) return `${what}; of other kinds: ${[...new Set(all.map((job) => job.kind))].join(', ')}`;
  const lines = ofKind.slice(0, SHOWN).map((job) => `  ${job.id}: ${mismatches(wanted, job).join('; ')}`);
  const more = ofKind.length > SHOWN ? [`  … and ${ofKind.length - SHOWN} more`] : [];
  return [`${what}; of this kind:`, ...lines, ...more].join('\n');
}

/** SQL takes any payload; the worker would find out. */
async function assertReadable(contract: Contract, job: EnqueuedJob, contracts: Contracts): Promise<void> {
  try {
    await readPayload(contract, job, contracts);
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    throw failure(`job ${job.id} was enqueued, but ${error.message}`, 'a payload that fits the contract', job.payload);
  }
}

function failure(message: string, expected: unknown, actual: unknown): AssertionError {
  return new AssertionError({ message, expected, actual, operator: 'assertEnqueued' });
}
