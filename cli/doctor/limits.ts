/** Beyond these something is wrong, or soon will be. Where there is an alarm for it (lib/watch), its threshold. */
export const LIMITS = {
  /** Of max_connections. */
  connectionsShare: 0.8,
  /** Transactions. */
  xminAge: 1_000_000,
  /** Seconds. */
  lag: 600,
  /** Seconds of lag that a burst may well cause. */
  ordinaryLag: 60,
  /** Seconds without a worker: each has a tick a minute, and one may be missed. */
  tick: 120,
  /** The reaper keeps three. */
  partitionDays: 1,
  /** Until a certificate ends: whoever renews them does so earlier. */
  certificateDays: 14,
  /** Seconds by which the clocks may differ. */
  clock: 60,
};
export type Limits = { readonly [Name in keyof typeof LIMITS]: number };
