import { setTimeout as sleep } from 'node:timers/promises';
import { backoff } from '../../functions/queue/backoff.ts';
import { DRAIN_MARGIN_SECONDS } from '../../functions/queue/fits.ts';
import type { RunSummary } from '../../functions/queue/run.ts';

export interface OneRun {
  readonly lingerSeconds: number;
  readonly claimSeconds: number;
  readonly remainingMs: () => number;
  /** To be called when it asks for jobs no more, since it has for `claimSeconds`. */
  readonly handOver: () => void;
}

export interface RunsOptions {
  /** Seconds for which a run asks for jobs; then the next one does. */
  readonly runSeconds: number;
  /** Seconds of the longest kind. */
  readonly longestSeconds: number;
  /** No run begins after it. */
  readonly finish: AbortSignal;
  /** Rejects for the database. */
  readonly run: (one: OneRun) => Promise<RunSummary>;
  /** Told of each run that has failed. */
  readonly failed: (error: unknown) => void;
}

/** Seconds beyond the longest job, so that each kind is claimed to the last. */
const SPARE_SECONDS = 1;
/** Before a run follows one that has ended early: one second, and more and more up to half a minute. */
const PAUSE = { baseSeconds: 1, capSeconds: 30 };

/**
 * One run after the other, so that somebody always asks for jobs: the next begins when one stops asking, which then finishes
 * what it holds. A run that fails is followed by another after a pause that grows. Resolves when the last one has ended.
 * @throws RangeError for a setting that the engine refuses
 */
export async function runOn({ runSeconds, longestSeconds, finish, run, failed }: RunsOptions): Promise<void> {
  const going = new Set<Promise<unknown>>();
  const lifeMs = (runSeconds + longestSeconds + DRAIN_MARGIN_SECONDS + SPARE_SECONDS) * 1000;
  for (let failures = 0; !finish.aborted; ) {
    const endsAt = performance.now() + lifeMs;
    const outcome = await new Promise<'handed over' | { error?: unknown }>((resolve) => {
      const one = run({
        lingerSeconds: Infinity,
        claimSeconds: runSeconds,
        remainingMs: () => endsAt - performance.now(),
        handOver: () => resolve('handed over'),
      })
        .then(
          () => resolve({}),
          (error: unknown) => resolve({ error }),
        )
        .finally(() => going.delete(one));
      going.add(one);
    });
    if (outcome === 'handed over') {
      failures = 0;
      continue;
    }
    if (outcome.error instanceof RangeError) throw outcome.error;
    if (outcome.error !== undefined) failed(outcome.error);
    await sleep(backoff(PAUSE, ++failures) * 1000, undefined, { signal: finish }).catch(() => {});
  }
  await Promise.all(going);
}
