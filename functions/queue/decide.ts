import type { ClaimedJob } from './job.ts';
import type { Outcome, Settlement } from './outcome.ts';

/** What is to be written for an attempt that ended so. `delaySeconds` is the kind's backoff (backoff.ts). */
export function decide(
  outcome: Outcome,
  { attempts, maxAttempts }: Pick<ClaimedJob, 'attempts' | 'maxAttempts'>,
  delaySeconds: (attempts: number) => number,
): Settlement {
  switch (outcome.kind) {
    case 'succeeded':
      return { kind: 'complete', result: outcome.result };
    case 'failed': {
      const { error, permanent, retryAfterSeconds } = outcome;
      if (permanent || attempts >= maxAttempts) return { kind: 'bury', error };
      return { kind: 'retry', error, delaySeconds: retryAfterSeconds ?? delaySeconds(attempts) };
    }
    case 'snoozed':
      return { kind: 'release', delaySeconds: outcome.seconds };
    case 'stopped':
      return { kind: 'release', delaySeconds: 0 };
    case 'committed':
    case 'lost':
      return { kind: 'none' };
  }
}
