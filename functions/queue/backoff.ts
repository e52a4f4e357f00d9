import type { BackoffPolicy } from './contract.ts';

/**
 * Seconds until the next attempt: exponential with full jitter, uniform in [1, max(1, min(cap, base · 2^(attempts − 1)))].
 * `attempts` counts the one that just failed, so the first retry gets 1. Full jitter spreads a herd that failed
 * together over the whole window (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015).
 */
export function backoff(policy: BackoffPolicy, attempts: number, random: () => number = Math.random): number {
  const ceiling = Math.max(1, Math.min(policy.capSeconds, policy.baseSeconds * 2 ** (attempts - 1)));
  return 1 + random() * (ceiling - 1);
}

/** Milliseconds. Short enough that a failover is noticed at once, long enough that a fleet does not storm the new primary. */
const RECONNECT = { floorMs: 20, baseMs: 100, capMs: 2_000 };

/** Milliseconds to wait after the database failed `failures` times in a row: full jitter above a floor of 20 ms, at most 2 s. */
export function reconnectDelay(failures: number, random: () => number = Math.random): number {
  const { floorMs, baseMs, capMs } = RECONNECT;
  const ceiling = Math.min(capMs, baseMs * 2 ** (failures - 1));
  return floorMs + random() * (ceiling - floorMs);
}
