import type { Contract } from './contract.ts';

/** Seconds kept free at the end of a run, for grace (perform.ts), settling and the summary. */
export const DRAIN_MARGIN_SECONDS = 5;

/** Seconds by which a lease outlives its job's deadline: the grace of a stopped attempt, and settling it. */
const LEASE_MARGIN_SECONDS = 10;

/** Kinds that a run can still finish in the time it has, each with the seconds of lease that a claim of it takes. */
export function kindsThatFit(
  contracts: ReadonlyMap<string, Pick<Contract, 'timeoutSeconds'>>,
  remainingMs: number,
  leaseMarginSeconds = LEASE_MARGIN_SECONDS,
): Map<string, number> {
  const fitting = new Map<string, number>();
  for (const [kind, { timeoutSeconds }] of contracts) {
    if (remainingMs >= (timeoutSeconds + DRAIN_MARGIN_SECONDS) * 1000) {
      fitting.set(kind, timeoutSeconds + leaseMarginSeconds);
    }
  }
  return fitting;
}
