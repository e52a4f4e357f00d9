import { AttemptContext } from './attempt-context.ts';
import type { Context, Log } from './context.ts';
import type { Contract, Contracts } from './contract.ts';
import { DeadlineError } from './errors.ts';
import type { ClaimedJob } from './job.ts';
import { type Ending, judge } from './judge.ts';
import { type Middleware, within } from './middleware.ts';
import type { Outcome } from './outcome.ts';
import { readPayload } from './payload.ts';
import type { JobProgress } from './progress-board.ts';
import { sealingOf } from './sealed-parts.ts';
import type { Stopper } from './stopper.ts';
import { sheltered } from './stray-rejections.ts';
import { isThenable } from './thenable.ts';
import type { JobTransaction } from './transaction.ts';

/** Seconds that a processor has after its signal to return or throw. Then its attempt is given up and its slot is free. */
const STOP_GRACE_SECONDS = 2;

export type Processor = (payload: never, ctx: Context) => unknown;

export interface PerformOptions {
  /** Those of the worker, of which `contract` is one: the payload of a dead job is of another kind. */
  readonly contracts: Contracts;
  /** Around the processor, the first outermost. Default none. */
  readonly middleware?: readonly Middleware[] | undefined;
  readonly stopper: Stopper;
  readonly transaction: JobTransaction;
  readonly progress: JobProgress;
  readonly log: Log;
  /** Which run it is, for the error of a failed attempt. */
  readonly where: string;
  /** Default 2. */
  readonly graceSeconds?: number | undefined;
}

/**
 * One attempt: reads the payload, runs the processor under its kind's deadline, both within the middleware, and says what
 * came of it. Never rejects, whatever they do, and resolves at the latest `timeoutSeconds` + `graceSeconds` after its start
 * (and however long a COMMIT that was sent takes to be answered). A processor that blocks the event loop blocks this too.
 */
export async function perform(
  job: ClaimedJob,
  contract: Contract,
  processor: Processor,
  options: PerformOptions,
): Promise<Outcome> {
  const { stopper, transaction, progress, log, where } = options;
  const startedAt = new Date();
  const deadlineMs = performance.now() + contract.timeoutSeconds * 1000;
  const sealed = sealingOf(job, contract, options.contracts).codec !== undefined;
  const ctx = new AttemptContext(job, { stopper, transaction, progress, log, sealed });
  // All attempts of a claim begin before the first processor runs: the time of each counts from its claim, as its lease does.
  await undefined;
  const begun = sheltered(ctx, () => processed(job, contract, processor, ctx, options));
  const ending = 'kind' in begun ? begun : await inTime(begun, deadlineMs, contract, options);
  progress.end();
  if (ending.kind === 'abandoned') await givenUp(transaction);
  const at = { stopReason: stopper.reason, transaction: transaction.state, attempt: job.attempts, startedAt, where };
  // What is kept of a result or an error is read by code of theirs: a toJSON, a getter.
  return sheltered(ctx, () => judge(ending, { ...at, failedAt: new Date() }));
}

/** A promise only if there is something to wait for: without it no timer is needed, since there is nothing left to stop. */
function processed(
  job: ClaimedJob,
  contract: Contract,
  processor: Processor,
  ctx: AttemptContext,
  { contracts, middleware = [], transaction }: PerformOptions,
): Ending | Promise<Ending> {
  const run = () => {
    const payload = readPayload(contract, job, contracts);
    if (!isThenable(payload)) return processor(payload as never, ctx);
    return Promise.resolve(payload).then((read) => processor(read as never, ctx));
  };
  try {
    const value = middleware.length === 0 ? run() : within(middleware, ctx, run);
    if (isThenable(value) || transaction.isRunning) return ended(value, transaction);
    transaction.close();
    return { kind: 'returned', value };
  } catch (thrown) {
    return ended(Promise.reject(thrown), transaction);
  }
}

/** What comes of a value that may be a promise, once the attempt's transaction has ended, too. */
async function ended(value: unknown, transaction: JobTransaction): Promise<Ending> {
  try {
    const returned = await value;
    // One that the processor forgot to await decides all the same: else its writes could be lost under a completed job.
    await transaction.ended();
    return { kind: 'returned', value: returned };
  } catch (thrown) {
    await transaction.ended().catch(() => {});
    return { kind: 'threw', thrown };
  }
}

/** The attempt's own ending, or `abandoned` if it does not end within the grace after its stop. `deadlineMs`: of performance.now(). */
async function inTime(
  ending: Promise<Ending>,
  deadlineMs: number,
  { timeoutSeconds }: Contract,
  { stopper, graceSeconds = STOP_GRACE_SECONDS }: PerformOptions,
): Promise<Ending> {
  const deadline = setTimeout(
    () => {
      stopper.stop(new DeadlineError(`ran longer than its ${timeoutSeconds} s (timeoutSeconds)`));
    },
    Math.max(0, deadlineMs - performance.now()),
  );
  let grace: NodeJS.Timeout | undefined;
  const first = await new Promise<Ending>((resolve) => {
    stopper.onStop(() => {
      grace = setTimeout(resolve, graceSeconds * 1000, { kind: 'abandoned' });
    });
    ending.then(resolve);
  });
  clearTimeout(deadline);
  clearTimeout(grace);
  return first;
}

async function givenUp(transaction: JobTransaction): Promise<void> {
  transaction.abandon();
  await transaction.ended().catch(() => {});
}
