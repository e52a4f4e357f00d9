/* A worker process of Millrace: one run, as `npx millrace work` has them back to back. */
import type { Connection } from '../../../functions/queue/run.ts';
import { run } from '../../../functions/queue/run.ts';
import { connectTo, silent } from '../../lifecycle/ground.ts';
import { inside } from './inside.ts';
import { contracts, KIND } from './millrace.ts';

export interface Settings {
  /** Jobs at once. */
  readonly concurrency: number;
}

await inside<Settings>(async ({ databaseUrl, settings, job, settled }) => {
  const connect = connectTo(databaseUrl);
  // Opened before the start, as the others have theirs.
  const opened: Connection[] = [await connect()];
  const stopping = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  return {
    go: () => {
      running = run({
        contracts,
        processors: { [KIND]: (payload, context) => job(payload, context.job.attempt) },
        connect: async () => opened.pop() ?? connect(),
        ...settings,
        transactions: 2,
        lingerSeconds: Infinity,
        remainingMs: () => Infinity,
        signal: stopping.signal,
        emit: ({ name }) => {
          if (name === 'job.completed') settled(1);
        },
        log: silent,
      });
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
});
