/** By this machine's two clocks: a frozen sandbox may stop the one, and somebody may set the other. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function moment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** Milliseconds at most. */
export function elapsedMs(since: Moment): number {
  return Math.max(performance.now() - since.monotonicMs, Date.now() - since.wallMs);
}
