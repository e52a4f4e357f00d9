import type { Log } from '../queue/context.ts';
import { readEnv, wakeEnv } from './env.ts';
import { once } from './once.ts';
import { within } from './within.ts';

/** Milliseconds between two wakes of the same function by this sandbox. */
const DEBOUNCE_MS = 2000;
/** Milliseconds that the answer to a request waits for Lambda at most. */
const PATIENCE_MS = 1000;

/**
 * Its part of the SDK takes longer to load than to use, so that begins with the sandbox: while it starts Lambda gives it
 * more of a CPU than later, and then the request waits for the database. Without WAKE_FUNCTIONS nobody needs it.
 */
const loading = process.env.WAKE_FUNCTIONS ? import('#sdk/lambda') : undefined;
// Whoever needs it is told.
loading?.catch(() => {});

/** What a worker is started with: as the first slot, which lingers. */
const TICK = JSON.stringify({ slot: 0 });

/** When each function was woken, in milliseconds since the epoch: the monotonic clock may stand still in a freeze. */
const wokenAt = new Map<string, number>();

/**
 * Starts the workers that serve these queues, `all` of them if it is not known which, where WAKE_FUNCTIONS names any. To be
 * called after the commit of what made a job due, and awaited: once a function has answered, Lambda freezes it. Never
 * rejects, and takes a second at most.
 *
 * Why debouncing loses nothing: a job that comes within 2 s of a wake was committed before it was looked whether to wake.
 * The worker that was woken starts after the wake was sent, and from then on asks for 3 s (WORKER_LINGER_SECONDS); so it
 * asks until after that commit. If it does not (Lambda throttled it or could not be reached, the worker died, or ran out of
 * time over jobs that take long), the job waits for the next tick, a minute at most, as one put in by SQL does.
 */
export async function wake(queues: readonly string[] | 'all', log: Log): Promise<void> {
  if (queues.length === 0) return;
  let functions: string[] = [];
  try {
    functions = due(namesOf(queues));
    if (functions.length > 0) {
      await within(PATIENCE_MS, (signal) => send(functions, signal), `Lambda took no event within ${PATIENCE_MS} ms`);
    }
  } catch (error) {
    log.warn('workers could not be woken; the next tick finds the jobs', { functions, error });
  }
}

/** Names of functions by queue. */
const served = once(() => readEnv(wakeEnv).WAKE_FUNCTIONS ?? {});

function namesOf(queues: readonly string[] | 'all'): string[] {
  const names = served();
  if (queues === 'all') return Object.values(names);
  return queues.flatMap((queue) => (Object.hasOwn(names, queue) ? names[queue] : names['*']) ?? []);
}

/**
 * Those that nobody woke within two seconds, and says that they are woken now: before it is sent, or the worker might have
 * started earlier than that. One that fails counts, too: with Lambda out of reach most requests do not wait for it.
 */
function due(names: readonly string[]): string[] {
  const now = Date.now();
  const functions = [...new Set(names)].filter((name) => {
    const age = now - (wokenAt.get(name) ?? Number.NEGATIVE_INFINITY);
    // Below 0 the clock was set back.
    return age < 0 || age >= DEBOUNCE_MS;
  });
  for (const name of functions) wokenAt.set(name, now);
  return functions;
}

/** Asynchronous: Lambda answers once it has taken the event. */
async function send(functions: readonly string[], signal: AbortSignal): Promise<void> {
  const { InvokeCommand, LambdaClient } = await (loading ?? import('#sdk/lambda'));
  // A new one each time: a sandbox that was frozen since has dead sockets.
  const client = new LambdaClient({
    maxAttempts: 2,
    requestHandler: {
      connectionTimeout: PATIENCE_MS / 2,
      requestTimeout: PATIENCE_MS / 2,
      throwOnRequestTimeout: true,
    },
  });
  const start = (FunctionName: string) =>
    client.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: TICK }), { abortSignal: signal });
  try {
    await Promise.all(functions.map(start));
  } finally {
    client.destroy();
  }
}
