import { AttemptContext } from './attempt-context.ts';
import type { Context, Log } from './context.ts';
import type { Contract } from './contract.ts';
import { DeadlineError } from './errors.ts';
import type { ClaimedJob } from './job.ts';
import { type Ending, judge } from './judge.ts';
import type { Outcome } from './outcome.ts';
import { parsePayload } from './payload.ts';
import type { JobProgress } from './progress-board.ts';
import type { Stopper } from './stopper.ts';
import { sheltered } from './stray-rejections.ts';
import type { JobTransaction } from './transaction.ts';

/** Seconds that a processor has after its signal to return or throw. Then its attempt is given up and its slot is free. */
const STOP_GRACE_SECONDS = 2;

export type Processor = (payload: never, ctx: Context) => unknown;

export interface PerformOptions {
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
 * One attempt: parses the payload, runs the processor under its kind's deadline, and says what came of it. Never rejects,
 * whatever the processor does, and resolves at the latest `timeoutSeconds` + `graceSeconds` after its start (and however
 * long a COMMIT that was sent takes to be answered). A processor that blocks the event loop blocks this too.
 */
export async function perform(
  job: ClaimedJob,
  contract: Contract,
  processor: Processor,
  { stopper, transaction, progress, log, where, graceSeconds = STOP_GRACE_SECONDS }: PerformOptions,
): Promise<Outcome> {
  const startedAt = new Date();
  const ctx = new AttemptContext(job, stopper, transaction, progress, log);
  const deadline = setTimeout(() => {
    stopper.stop(new DeadlineError(`ran longer than its ${contract.timeoutSeconds} s (timeoutSeconds)`));
  }, contract.timeoutSeconds * 1000);
  let grace: NodeJS.Timeout | undefined;
  const ending = await new Promise<Ending>((resolve) => {
    stopper.onStop(() => {
      grace = setTimeout(resolve, graceSeconds * 1000, { kind: 'abandoned' });
    });
    processed(job, contract, processor, ctx, transaction).then(resolve);
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
  transaction: JobTransaction,
): Promise<Ending> {
  try {
    const payload = await parsePayload(contract.payload, job.payload);
    const value = await sheltered(ctx.stray, () => processor(payload as never, ctx));
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
