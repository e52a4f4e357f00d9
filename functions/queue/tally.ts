import type { Emit } from './events.ts';
import type { ClaimedJob } from './job.ts';
import type { Reason } from './phase.ts';
import { placeIn } from './place.ts';
import type { Settled } from './settle.ts';
import type { StartDecision } from './start.ts';

/** What a run did. Each claimed job is counted in exactly one of the others. */
export interface RunSummary {
  readonly claimed: number;
  readonly completed: number;
  readonly retried: number;
  readonly buried: number;
  /** Given back with their attempt: snoozed, or not finished when the run had to end. */
  readonly released: number;
  readonly cancelled: number;
  /** Somebody else had the job by then; what this run did of it changes nothing. */
  readonly overtaken: number;
  /** The database could not be told, or refused to hear it, before the run's end. Their leases run out, and they run again. */
  readonly unsettled: number;
  /** Why it claimed no more, or why it did not begin. */
  readonly reason: Reason | Exclude<StartDecision, 'take'>;
  readonly durationMs: number;
}

type Count = Exclude<keyof RunSummary, 'unsettled' | 'reason' | 'durationMs'>;

/** Counts what becomes of a run's jobs, and says it as events. */
export class Tally {
  readonly #counts: Record<Count, number> = {
    claimed: 0,
    completed: 0,
    retried: 0,
    buried: 0,
    released: 0,
    cancelled: 0,
    overtaken: 0,
  };
  readonly #emit: Emit;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  claimed(job: ClaimedJob): void {
    this.#counts.claimed++;
    this.#emit({ name: 'job.claimed', ...named(job), waitedMs: job.waitedMs });
  }

  /** `ctx.transaction` committed the completion with the processor's writes. */
  committed(job: ClaimedJob, durationMs: number): void {
    this.#counts.completed++;
    this.#emit({ name: 'job.completed', ...named(job), durationMs });
  }

  overtaken(job: ClaimedJob): void {
    this.#counts.overtaken++;
    this.#emit({ name: 'job.overtaken', ...named(job) });
  }

  settled({ ended: { job, settlement, durationMs }, verdict }: Settled): void {
    if (verdict === 'refused') {
      const message = `job ${job.id} could not be settled: the database refuses what is to be kept of it`;
      this.#emit({ name: 'database.failed', during: 'settle', code: 'refused', reason: message });
      return;
    }
    this.#counts[verdict]++;
    if (verdict === 'overtaken') {
      this.#emit({ name: 'job.overtaken', ...named(job) });
    } else if ((verdict === 'retried' || verdict === 'buried') && 'error' in settlement) {
      const { name, message, stack } = settlement.error;
      const at = placeIn(stack);
      const delay = settlement.kind === 'retry' ? { delaySeconds: settlement.delaySeconds } : {};
      this.#emit({
        name: `job.${verdict}`,
        ...named(job),
        durationMs,
        error: { name, message, ...(at && { at }) },
        ...delay,
      });
    } else if (verdict === 'completed' || verdict === 'released' || verdict === 'cancelled') {
      this.#emit({ name: `job.${verdict}`, ...named(job), durationMs });
    }
  }

  summary(reason: RunSummary['reason'], durationMs: number): RunSummary {
    const { claimed, ...ends } = this.#counts;
    const settled = Object.values(ends).reduce((sum, n) => sum + n, 0);
    return { claimed, ...ends, unsettled: claimed - settled, reason, durationMs };
  }
}

function named({ id, kind, attempts, requestId, traceparent }: ClaimedJob) {
  return { id, kind, attempt: attempts, requestId, traceparent };
}
