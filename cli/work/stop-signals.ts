import { onStopSignal } from '../../local/stop-signals.ts';
import { EXIT } from '../cli-error.ts';

/** Seconds that the engine takes at most to give back what it holds. */
const GIVE_BACK_SECONDS = 5;

export interface Stop {
  /** Aborts at the first signal: no more jobs are taken. */
  readonly finish: AbortSignal;
  /** Aborts at the second, or when only the time for giving back is left. */
  readonly drain: AbortSignal;
  /** Ends as the first signal does. */
  begin(): void;
  /** All is given back, and the process ends by itself: a signal that comes now would only make it look like a failure. */
  over(): void;
}

/** Listens to the signals that end a process. A third one ends it at once, and leaves what runs to the reaper. */
export function stopSignals(drainSeconds: number, say: (message: string) => void): Stop {
  const finish = new AbortController();
  const drain = new AbortController();
  const seconds = drainSeconds - GIVE_BACK_SECONDS;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const begin = () => {
    timer ??= setTimeout(() => drain.abort(), seconds * 1000);
    finish.abort();
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (isOver) return;
    if (drain.signal.aborted) process.exit(EXIT.failed);
    if (finish.signal.aborted) {
      say(`${signal} again: what runs is given back now`);
      drain.abort();
      return;
    }
    say(`${signal}: no more jobs are taken, what runs has ${seconds} s and is then given back`);
    begin();
  };
  onStopSignal(onSignal, ['SIGTERM', 'SIGINT']);
  return {
    finish: finish.signal,
    drain: drain.signal,
    begin,
    over: () => {
      clearTimeout(timer);
      isOver = true;
    },
  };
}
