import pg from 'pg';
import type { Log } from '../../functions/queue/context.ts';
import type { Contracts } from '../../functions/queue/contract.ts';
import type { QueueEvent } from '../../functions/queue/events.ts';
import { type Connect, type RunSummary, run } from '../../functions/queue/run.ts';
import type { RunOptions } from '../../functions/queue/run-options.ts';

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

export function connectTo(url: string): Connect {
  return async () => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      application_name: 'millrace-test',
    });
    // Before it connects: a server that goes down may say so together with its greeting.
    client.on('error', () => {});
    await client.connect();
    return client;
  };
}

/** A run with what tests of something else do not care about: 10 at once, a minute, until nothing is due. */
export function runOn<C extends Contracts>(
  url: string,
  options: Pick<RunOptions<C>, 'contracts' | 'processors'> & Partial<RunOptions<C>>,
): Promise<RunSummary> {
  return run<C>({
    connect: connectTo(url),
    concurrency: 10,
    transactions: 2,
    remainingMs: remaining(60_000),
    lingerSeconds: 0,
    emit: () => {},
    log: silent,
    ...options,
  });
}

/** A deadline so many milliseconds from now. */
export function remaining(ms: number): () => number {
  const at = performance.now() + ms;
  return () => at - performance.now();
}

/** Keeps what a run says of itself. */
export function recorder(): {
  emit: (event: QueueEvent) => void;
  named<Name extends QueueEvent['name']>(name: Name): Extract<QueueEvent, { name: Name }>[];
} {
  const events: QueueEvent[] = [];
  return {
    emit: (event) => {
      events.push(event);
    },
    named: <Name extends QueueEvent['name']>(name: Name) =>
      events.filter((event): event is Extract<QueueEvent, { name: Name }> => event.name === name),
  };
}

/** Polls until `look` answers something true; the test's own timeout ends a hopeless wait. */
export async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
