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
  const { stopper, transaction, progress, log, where, graceSeconds = STOP_GRACE_SECONDS } = options;
  const startedAt = new Date();
  const sealed = sealingOf(job, contract, options.contracts).codec !== undefined;
  const ctx = new AttemptContext(job, { stopper, transaction, progress, log, sealed });
  const deadline = setTimeout(() => {
    stopper.stop(new DeadlineError(`ran longer than its ${contract.timeoutSeconds} s (timeoutSeconds)`));
  }, contract.timeoutSeconds * 1000);
  let grace: NodeJS.Timeout | undefined;
  const ending = await new Promise<Ending>((resolve) => {
    stopper.onStop(() => {
      grace = setTimeout(resolve, graceSeconds * 1000, { kind: 'abandoned' });
    });
    processed(job, contract, processor, ctx, options).then(resolve);
  });
  clearTimeout(deadline);
  clearTimeout(grace);
  progress.end();
  if (ending.kind === 'abandoned') await givenUp(transaction);
  return judge(ending, {
    stopReason: stopper.reason,
    transaction: transaction.state,
    attempt: job.attempts,
    startedAt,
    failedAt: new Date(),
    where,
  });
}

async function processed(
  job: ClaimedJob,
  contract: Contract,
  processor: Processor,
  ctx: AttemptContext,
  { contracts, middleware = [], transaction }: PerformOptions,
): Promise<Ending> {
  const run = async () => processor((await readPayload(contract, job, contracts)) as never, ctx);
  try {
    const value = await sheltered(ctx, () => (middleware.length === 0 ? run() : within(middleware, ctx, run)));
    // One that the processor forgot to await decides all the same: else its writes could be lost under a completed job.
    await transaction.ended();
    return { kind: 'returned', value };
  } catch (thrown) {
    await transaction.ended().catch(() => {});
    return { kind: 'threw', thrown };
  }
}

async function givenUp(transaction: JobTransaction): Promise<void> {
  transaction.abandon();
  await transaction.ended().catch(() => {});
}
