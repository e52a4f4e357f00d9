import { AsyncLocalStorage } from 'node:async_hooks';

interface Attempt {
  /** Told of a promise that its processor left behind and that was rejected with nobody looking. */
  stray(reason: unknown): void;
}

const attempts = new AsyncLocalStorage<Attempt>();
let listening = false;

/**
 * Runs `processor` so that promises it leaves behind (not awaited, or rejected after it was given up) do not end the
 * process: one bad job never kills the others. Rejections that come from anywhere else keep their default.
 */
export function sheltered<T>(attempt: Attempt, processor: () => T): T {
  if (!listening) {
    listening = true;
    process.on('unhandledRejection', listener);
  }
  return attempts.run(attempt, processor);
}

/** Node calls it in the asynchronous context of the rejected promise, which tells whose it was. */
function listener(reason: unknown): void {
  const attempt = attempts.getStore();
  if (attempt) attempt.stray(reason);
  // Without our listener Node would make it an uncaught exception; so it stays, unless somebody else listens too.
  else if (process.listenerCount('unhandledRejection') === 1) throw reason;
}
