const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Milliseconds within which a signal, whichever it is, is the echo of the one before. Ctrl-C goes to everybody at the
 * terminal, and npm passes on what it gets of it: a program whose shell gave it its place hears both, a millisecond apart
 * (measured).
 */
export const ECHO_MS = 300;

/** Calls back whenever this process is asked to end: once for each Ctrl-C, however it was started. */
export function onStopSignal(
  callback: (signal: NodeJS.Signals) => void,
  signals: readonly NodeJS.Signals[] = SIGNALS,
): void {
  let heardAt = Number.NEGATIVE_INFINITY;
  const heard = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (now - heardAt < ECHO_MS) return;
    heardAt = now;
    callback(signal);
  };
  for (const signal of signals) process.on(signal, heard);
}
