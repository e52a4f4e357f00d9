import { Duration } from 'aws-cdk-lib';
import type { Contracts } from '../../functions/queue/contract.ts';

/** Seconds that a run keeps free at its end; the engine's own constant of this name, which a test holds equal. */
export const DRAIN_MARGIN_SECONDS = 5;

/** Seconds that a Lambda can run. */
const LAMBDA_LIMIT_SECONDS = 900;
const LEAST_DEFAULT_SECONDS = 120;
/** Seconds for which a run claims, with something to do or lingering: then the next tick's takes its place. */
const TICK_SECONDS = 60;

/**
 * A worker function's timeout. A job is started only while the time that remains covers its kind's timeout and a margin, so
 * a kind that does not fit would never start.
 * @param prop - what an error calls it: `workers.reports.timeout`
 * @param kinds - those of the worker's queues
 * @param given - @default - a minute of claiming, then the longest kind and two margins; from 120 s to 900 s
 * @throws Error naming the kind that does not fit
 */
export function workTimeout(prop: string, kinds: Contracts, given?: Duration): Duration {
  const [kind, longest] = longestOf(kinds);
  const needed = Math.ceil(longest + 2 * DRAIN_MARGIN_SECONDS);
  const preferred = Math.max(LEAST_DEFAULT_SECONDS, TICK_SECONDS + needed);
  const seconds = given?.toSeconds({ integral: false }) ?? Math.min(LAMBDA_LIMIT_SECONDS, preferred);
  if (seconds < needed) {
    throw new Error(
      `${prop} must be at least ${needed} s, not ${seconds} s: ${kind === undefined ? '' : `a job of kind "${kind}" may take ${longest} s, and `}` +
        `a run keeps ${2 * DRAIN_MARGIN_SECONDS} s to start and to settle. Raise ${prop} or lower the kind's timeoutSeconds.`,
    );
  }
  if (seconds > LAMBDA_LIMIT_SECONDS || !Number.isInteger(seconds)) {
    throw new Error(
      `${prop} must be whole seconds, at most ${LAMBDA_LIMIT_SECONDS} s, which is Lambda's limit, not ${seconds} s.`,
    );
  }
  return Duration.seconds(seconds);
}

function longestOf(contracts: Contracts): [kind: string | undefined, timeoutSeconds: number] {
  return Object.entries(contracts)
    .map(([kind, { timeoutSeconds }]): [string, number] => [kind, timeoutSeconds])
    .reduce<[string | undefined, number]>((longest, next) => (next[1] > longest[1] ? next : longest), [undefined, 0]);
}
