import type * as z from 'zod';
import { backoff } from '../functions/queue/backoff.ts';
import type { Context } from '../functions/queue/context.ts';
import type { Contract, Contracts, Processors } from '../functions/queue/contract.ts';
import type { Db } from '../functions/queue/db.ts';
import { decide } from '../functions/queue/decide.ts';
import { CancelledError } from '../functions/queue/errors.ts';
import type { AttemptError } from '../functions/queue/job.ts';
import type { Middleware } from '../functions/queue/middleware.ts';
import type { Outcome } from '../functions/queue/outcome.ts';
import type { Processor } from '../functions/queue/perform.ts';
import type { Verdict } from '../functions/queue/settle.ts';
import { Stopper } from '../functions/queue/stopper.ts';
import { assertStorable } from '../functions/queue/storable.ts';
import { attempt } from './attempt.ts';
import { contractOf } from './contract-of.ts';
import type { LogLine, ProgressCall } from './recorder.ts';
import { StandIn } from './stand-in.ts';
import { assertTransaction } from './transaction.ts';

export interface RunProcessorOptions {
  /** Needed for `ctx.transaction`, which is a savepoint in the transaction that is open on it. */
  readonly client?: Db;
  /** What the processor finds in `ctx.job`. Default: the first attempt of a job put in just now. */
  readonly job?: Partial<Omit<Context['job'], 'kind'>>;
  /** Its abort tells the processor to stop, with its reason, as `ctx.signal` does. An Error as reason counts as given. */
  readonly signal?: AbortSignal;
  /** What the worker has around its processors, the first outermost. Default none. */
  readonly middleware?: readonly Middleware[];
}

/** What came of it. */
export interface ProcessorRun {
  /**
   * `retried`: failed, and pending again. `released`: snoozed, or stopped for a drain. `buried`: failed for good. `overtaken`:
   * its row was taken away in `ctx.transaction`.
   */
  readonly verdict: Exclude<Verdict, 'refused'>;
  /** What it returned, as it is stored: JSON. There only if it is completed. */
  readonly result?: unknown;
  /** What is stored of what it threw, if it failed. */
  readonly error?: AttemptError;
  /** What it threw itself, also a Snooze. */
  readonly thrown?: unknown;
  /** Seconds until it is due again, if it is retried (by its backoff: random) or released. */
  readonly delaySeconds?: number;
  readonly progress: readonly ProgressCall[];
  readonly log: readonly LogLine[];
}

/**
 * One attempt of a kind's processor, as the engine makes it: the payload goes through JSON and the contract, the deadline
 * is the contract's, and what comes of it is what would be written, but nothing is. Never rejects for the processor.
 * @throws UnknownKindError for a kind that has no contract
 * @throws UnstorableError for a payload that JSON cannot hold
 * @throws NoTransactionError if `client` has no transaction open
 */
export async function runProcessor<C extends Contracts, Kind extends keyof C & string>(
  contracts: C,
  processors: Pick<Processors<C>, Kind>,
  kind: Kind,
  payload: z.input<C[Kind]['payload']>,
  { client, job: over, signal, middleware }: RunProcessorOptions = {},
): Promise<ProcessorRun> {
  const contract = contractOf(contracts, kind);
  if (client) await assertTransaction(client);
  const standIn = new StandIn(kind, contract, JSON.parse(assertStorable(payload)), over);
  const stopper = new Stopper();
  const stop = () => stopper.stop(reasonOf(signal));
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  const processor = processors[kind] as Processor;
  const frame = client && standIn.frame(client);
  const { outcome, thrown, ...said } = await attempt(standIn.job, contract, processor, {
    contracts,
    middleware,
    client,
    frame,
    stopper,
  });
  signal?.removeEventListener('abort', stop);
  const cancelled = stopper.reason instanceof CancelledError;
  return { ...ending(outcome, standIn, contract, cancelled), ...(thrown !== undefined && { thrown }), ...said };
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  // abort() without a reason makes a DOMException, which says nothing.
  if (reason instanceof Error && !(reason instanceof DOMException)) return reason;
  return new CancelledError('the job is to be cancelled');
}

function ending(outcome: Outcome, { job, result }: StandIn, { backoff: policy }: Contract, cancelled: boolean) {
  if (outcome.kind === 'committed') return { verdict: 'completed', result } as const;
  const settlement = decide(outcome, job, (attempts) => backoff(policy, attempts));
  switch (settlement.kind) {
    case 'complete':
      return { verdict: 'completed', result: settlement.result } as const;
    case 'retry':
      if (cancelled) return { verdict: 'cancelled', error: settlement.error } as const;
      return { verdict: 'retried', error: settlement.error, delaySeconds: settlement.delaySeconds } as const;
    case 'bury':
      return { verdict: 'buried', error: settlement.error } as const;
    case 'release':
      if (cancelled) return { verdict: 'cancelled' } as const;
      return { verdict: 'released', delaySeconds: settlement.delaySeconds } as const;
    case 'none':
      return { verdict: 'overtaken' } as const;
  }
}
