/** Why `within` aborted when it was its own time that ran out. */
export const TIME_UP = Symbol('time up');

/**
 * Runs `work` with a signal that aborts with the caller's, or after `ms`. It ends then in any case, with the signal's
 * reason or TIME_UP, even if `work` does not heed its signal.
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const stop = () => own.abort(signal?.reason);
  const timer = setTimeout(() => own.abort(TIME_UP), ms);
  // By hand, since AbortSignal.any keeps a listener on a signal that outlives the call, in some runtimes for good.
  signal?.addEventListener('abort', stop);
  try {
    const aborted = new Promise<never>((_, reject) => {
      own.signal.addEventListener('abort', () => reject(own.signal.reason));
    });
    return await Promise.race([aborted, work(own.signal)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** @throws the signal's reason, as soon as it aborts */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await within(ms, signal, () => new Promise<never>(() => {})).catch((reason: unknown) => {
    if (reason !== TIME_UP) throw reason;
  });
}

/** Longer than a day, and some timers fire at once. */
export function milliseconds(option: string, seconds: number): number {
  if (seconds > 0 && seconds <= 86_400) return seconds * 1000;
  throw new RangeError(`${option} must be above 0 and at most 86,400, not ${seconds}`);
}
