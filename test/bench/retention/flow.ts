import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../frame/now.ts';
import { percentile } from '../frame/spread.ts';
import { systemNamed } from '../systems/index.ts';

/** Jobs that come and go meanwhile. */
const JOBS_A_SECOND = 2000;
const BATCH = 100;

/** Of the jobs that were put in within a time. */
export interface Felt {
  /** Milliseconds that putting in a batch took, of a hundred the slowest, and of all. */
  readonly enqueueP99: number;
  readonly enqueueLongest: number;
  /** From the enqueue's call to the start of the job. */
  readonly startP99: number;
  readonly startLongest: number;
}

export interface Flow {
  /** What jobs felt that were put in between two times (milliseconds since the epoch). */
  felt(from: number, to: number): Felt;
  stop(): Promise<void>;
}

/** One worker process of Millrace, and 2,000 jobs a second for it, put in by 100. */
export async function startFlow(databaseUrl: string): Promise<Flow> {
  const millrace = await systemNamed('Millrace');
  const workers = await millrace.workers(databaseUrl, 1, { kind: 'nothing' });
  const producer = await millrace.producer(databaseUrl, 10);
  workers.go();
  const batches: { readonly at: number; readonly first: number; tookMs: number }[] = [];
  let starts: ReadonlyMap<number, number> = new Map();
  let going = true;
  const flowing = (async () => {
    const begun = now();
    const sent: Promise<void>[] = [];
    while (going) {
      const at = now();
      const batch = { at, first: batches.length * BATCH, tookMs: Number.NaN };
      batches.push(batch);
      const payloads = Array.from({ length: BATCH }, (_, n) => ({ n: batch.first + n }));
      // Not waited for: who is held up does not slow down those who come after.
      sent.push(
        producer.enqueueMany(payloads).then(() => {
          batch.tookMs = now() - at;
        }),
      );
      await sleep(Math.max(0, begun + batches.length * ((1000 * BATCH) / JOBS_A_SECOND) - now()));
    }
    await Promise.all(sent);
    await workers.done(batches.length * BATCH);
    starts = await workers.startedAt();
  })();
  // It fails at its end, for whoever stops it.
  flowing.catch(() => {});
  return {
    felt: (from, to) => {
      const those = batches.filter(({ at }) => at >= from && at < to);
      const took = those.map(({ tookMs }) => tookMs);
      const waited = those.flatMap(({ at, first }) =>
        Array.from({ length: BATCH }, (_, n) => (starts.get(first + n) ?? Number.NaN) - at),
      );
      return {
        enqueueP99: percentile(took, 0.99),
        enqueueLongest: Math.max(...took),
        startP99: percentile(waited, 0.99),
        startLongest: waited.reduce((most, ms) => Math.max(most, ms), 0),
      };
    },
    stop: async () => {
      going = false;
      await flowing.finally(async () => {
        await producer.close();
        await workers.stop();
      });
    },
  };
}
