import { setTimeout as wait } from 'node:timers/promises';
import { type Middleware, PermanentError, type Processors } from 'millrace/queue';
import type { contracts } from './contracts.ts';

export const processors: Processors<typeof contracts> = {
  sleep: ({ ms }) => wait(ms, 'slept'),
  /** Until it is told to stop. */
  hold: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  fail: () => {
    // Known to the engine only if it is of the same module as the engine's own.
    throw new PermanentError('never');
  },
  mourn: ({ kind, error }) => `${kind}: ${error.name}`,
};

let running = 0;

/** Says that an attempt has begun, and how many last. */
export const middleware: Middleware[] = [
  async (_, next, { log }) => {
    log.info('begun', { running: ++running });
    try {
      return await next();
    } finally {
      running--;
    }
  },
];
