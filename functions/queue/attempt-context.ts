import { attemptError } from './attempt-error.ts';
import type { Context, Log } from './context.ts';
import type { Db } from './db.ts';
import type { ClaimedJob } from './job.ts';
import type { JobProgress } from './progress-board.ts';
import { scheduleOf } from './schedule-of.ts';
import type { Stopper } from './stopper.ts';
import { traceIdOf } from './trace.ts';
import type { JobTransaction } from './transaction.ts';

export interface AttemptParts {
  readonly stopper: Stopper;
  readonly transaction: JobTransaction;
  readonly progress: JobProgress;
  readonly log: Log;
  /** What errors say is for nobody's log, since the kind has a codec. */
  readonly sealed: boolean;
}

/** The `ctx` of one attempt. Signal and log are made when first asked for: most small jobs ask for neither. */
export class AttemptContext implements Context {
  readonly job: Context['job'];
  readonly progress: Context['progress'];
  readonly transaction: Context['transaction'];
  readonly #stopper: Stopper;
  readonly #log: Log;
  readonly #sealed: boolean;

  constructor(job: ClaimedJob, { stopper, transaction, progress, log, sealed }: AttemptParts) {
    this.#sealed = sealed;
    this.job = {
      id: job.id,
      kind: job.kind,
      queue: job.queue,
      subject: job.subject,
      attempt: job.attempts,
      maxAttempts: job.maxAttempts,
      createdAt: job.createdAt,
      requestId: job.requestId,
      traceparent: job.traceparent,
      schedule: scheduleOf(job),
    };
    this.#stopper = stopper;
    this.#log = log;
    // Own properties, so that `({ progress, transaction }) => …` works.
    this.progress = (fraction, note) => progress.say(fraction, note);
    this.transaction = <Result>(fn: (tx: Db) => Promise<Result>) => transaction.run(fn, stopper.signal);
  }

  get signal(): AbortSignal {
    return this.#stopper.signal;
  }

  /** The job's id: the same in every attempt. */
  get idempotencyKey(): string {
    return this.job.id;
  }

  get log(): Log {
    const { id, kind, attempt, requestId, traceparent } = this.job;
    const trace_id = traceIdOf(traceparent);
    const origin = {
      ...(requestId !== null && { request_id: requestId }),
      ...(trace_id !== undefined && { trace_id }),
    };
    const fields = { job_id: id, kind, attempt, ...origin };
    const log = this.#log;
    return {
      debug: (message, more) => log.debug(message, { ...fields, ...more }),
      info: (message, more) => log.info(message, { ...fields, ...more }),
      warn: (message, more) => log.warn(message, { ...fields, ...more }),
      error: (message, more) => log.error(message, { ...fields, ...more }),
    };
  }

  /** See stray-rejections.ts. */
  stray(reason: unknown): void {
    const now = new Date();
    const { name, message } = attemptError(reason, { attempt: this.job.attempt, startedAt: now, failedAt: now });
    const said = this.#sealed ? {} : { message };
    this.log.error('a promise that the processor did not await was rejected', { error: { name, ...said } });
  }
}
