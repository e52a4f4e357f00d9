const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Milliseconds within which a signal is the echo of the one before. Ctrl-C goes to everybody at the terminal, and npm passes
 * on what it gets of it: a program whose shell gave it its place hears both, a millisecond apart (measured).
 */
const ECHO_MS = 300;

/** Calls back whenever this process is asked to end: once for each Ctrl-C, however it was started. */
export function onStopSignal(
  callback: (signal: NodeJS.Signals) => void,
  signals: readonly NodeJS.Signals[] = SIGNALS,
): void {
  let heard: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const at = performance.now();
    if (signal === heard?.signal && at - heard.at < ECHO_MS) return;
    heard = { signal, at };
    callback(signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
}
