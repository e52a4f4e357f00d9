import type { Log } from '../queue/context.ts';
import type { Db } from '../queue/db.ts';
import { takeWakes } from '../queue/take-wakes.ts';
import { readEnv, wakeEnv } from './env.ts';
import { once } from './once.ts';
import { startWorkers } from './start-workers.ts';
import { within } from './within.ts';

/** Milliseconds that the answer to a request waits for Lambda at most. */
const PATIENCE_MS = 1000;

/** What came of a wake. */
export interface Woken {
  /** Names of the functions that were to be started: nobody claimed for them, or had just been told to. */
  readonly functions: readonly string[];
  /** Why they may not have been, or why it is not known which. */
  readonly error?: unknown;
}

/**
 * Starts the workers that serve these queues, `all` of them if it is not known which, where WAKE_FUNCTIONS names any, unless
 * somebody is there: take-wakes.ts. To be called after the commit of what made a job due, and awaited: once a function has
 * answered, Lambda freezes it. Never rejects, and waits for Lambda for a second at most. If it fails (Lambda throttles or
 * cannot be reached), or the worker that it started does, the job waits for the next tick, a minute at most.
 */
export async function wakeWorkers(db: Db, queues: readonly string[] | 'all'): Promise<Woken> {
  let functions: string[] = [];
  try {
    const names = namesOf(queues);
    if (names.length === 0) return { functions };
    functions = await takeWakes(db, names);
    if (functions.length > 0) {
      const start = (signal: AbortSignal) => startWorkers(functions, signal);
      await within(PATIENCE_MS, start, `Lambda took no event within ${PATIENCE_MS} ms`);
    }
    return { functions };
  } catch (error) {
    return { functions, error };
  }
}

/** The same for those who can do no more about a failure than log it. */
export async function wake(db: Db, queues: readonly string[] | 'all', log: Log): Promise<void> {
  const { functions, error } = await wakeWorkers(db, queues);
  if (error !== undefined) log.warn('workers could not be woken; the next tick finds the jobs', { functions, error });
}

/** Names of functions by queue. */
const served = once(() => readEnv(wakeEnv).WAKE_FUNCTIONS ?? {});

function namesOf(queues: readonly string[] | 'all'): string[] {
  if (queues.length === 0) return [];
  const names = served();
  const own = (queue: string) => (Object.hasOwn(names, queue) ? names[queue] : names['*']) ?? [];
  return [...new Set(queues === 'all' ? Object.values(names) : queues.flatMap(own))];
}
