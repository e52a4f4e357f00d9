import { installed } from '../frame/loaded.ts';
import { now } from '../frame/now.ts';
import type { Server } from '../frame/server.ts';
import { percentile } from '../frame/spread.ts';
import type { Producer, System, Workers } from '../systems/system.ts';
import { type Offered, offer, offerAll } from './offer.ts';

/** Connections of the producer. */
export const CALLERS = 10;

/** A share that brings fewer jobs than this in its time is measured for longer, up to so many times as long. */
const SAMPLES = 60;
const LONGER = 3;

/** Shares of the capacity, in per cent. */
export const SHARES = [1, 50, 90] as const;
export type Share = (typeof SHARES)[number];

/** `p50At90`: milliseconds from the moment of a job's enqueue to its start, with 90% of the capacity in use. */
export type Paced = Readonly<Record<'capacity' | `${'p50' | 'p99'}At${Share}`, number>>;

/**
 * One worker process and one producer on an empty queue. First as fast as the producer can, which says what the two of them get
 * through in a second; then at shares of that, for so many seconds each at least.
 */
export async function paced(server: Server, system: System, seconds: number): Promise<Paced> {
  const database = await server.database((await installed(server, system)).name);
  try {
    const workers = await system.workers(database.url, 1, { kind: 'nothing' });
    const producer = await system.producer(database.url, CALLERS);
    try {
      workers.go();
      return await pacedBy(producer, workers, seconds);
    } finally {
      await producer.close();
      await workers.stop();
    }
  } finally {
    await database.drop();
  }
}

async function pacedBy(producer: Producer, workers: Workers, seconds: number): Promise<Paced> {
  // What connects and compiles at the first jobs is over then.
  let jobs = await offerAll(producer, { first: 0, callers: CALLERS, seconds: seconds / 5 });
  await workers.done(jobs);
  const begun = now();
  const all = await offerAll(producer, { first: jobs, callers: CALLERS, seconds });
  jobs += all;
  const capacity = (all * 1000) / ((await workers.done(jobs)) - begun);
  // Those that have begun by now are of no interest: it tells of each start once.
  await workers.startedAt();
  const figures: Record<string, number> = {};
  for (const share of SHARES) {
    const perSecond = (capacity * share) / 100;
    const enough = Math.min(Math.max(seconds, SAMPLES / perSecond), LONGER * seconds);
    const offered = await offer(producer, { first: jobs, perSecond, seconds: enough });
    jobs += offered.size;
    await workers.done(jobs);
    const waits = waitsOf(offered, await workers.startedAt());
    figures[`p50At${share}`] = percentile(waits, 0.5);
    figures[`p99At${share}`] = percentile(waits, 0.99);
  }
  return { capacity, ...figures } as Paced;
}

/** @throws Error if one of them never began */
function waitsOf(offered: Offered, startedAt: ReadonlyMap<number, number>): number[] {
  return [...offered].map(([n, at]) => {
    const started = startedAt.get(n);
    if (started === undefined) throw new Error(`job ${n} has ended and nobody knows when it began`);
    return started - at;
  });
}
