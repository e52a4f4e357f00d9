import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../functions/queue/db.ts';
import { wreakHavoc } from './chaos.ts';
import type { Delivery } from './deliveries.ts';
import { enqueueAll } from './enqueue.ts';
import type { Host } from './host.ts';
import { type Standing, standingOf } from './jobs.ts';
import type { Progress } from './progress.ts';
import { counted, createTally, type Difference, differences, type TallyLine, tallyOf } from './tally.ts';

export interface DemoOptions {
  readonly deliveries: readonly Delivery[];
  /** How many workers are killed; 0 is the calm demo. */
  readonly kills: number;
  readonly random: () => number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export interface DemoResult {
  readonly seconds: number;
  readonly kills: number;
  readonly standing: Standing;
  readonly tally: readonly TallyLine[];
  /** Empty: every delivery was counted exactly once. */
  readonly differences: readonly Difference[];
}

/** Seconds without any progress after which the demo gives up: a lease, the longest delay after it, and a minute's tick. */
const STALL_SECONDS = 180;
/** Milliseconds that a processor dawdles over a delivery in chaos, so that kills catch jobs at work. */
const DAWDLE_MS = { least: 50, most: 400 };

/**
 * Enqueues the deliveries, waits until all are counted, and compares.
 * @throws Error in a sentence when the API refuses one, one dies, or nothing moves any more
 */
export async function runDemo(host: Host, db: Db, options: DemoOptions): Promise<DemoResult> {
  const { deliveries, kills, random, progress } = options;
  const { url, pid } = await host.info();
  const run = randomUUID();
  const ids: string[] = [];
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  await createTally(db);

  const began = performance.now();
  const onKill = (pid: number, jobs: number) => progress.line(`SIGKILL to worker ${pid} with ${jobs} jobs at work`);
  // Within a second a killed worker is replaced and the reaper looks for what it left, whatever the schedules say.
  const ticks = kills > 0 ? setInterval(() => process.kill(pid, 'SIGUSR2'), 1000) : undefined;
  const havoc = wreakHavoc(db, { kills, random, workers: async () => (await host.info()).workers, onKill, signal });
  try {
    await Promise.all([
      havoc.then(() => {}),
      enqueueAll(url, deliveries, {
        run,
        dawdleMs: () => (kills > 0 ? Math.round(DAWDLE_MS.least + random() * (DAWDLE_MS.most - DAWDLE_MS.least)) : 0),
        onEnqueued: (id) => progress.enqueued(ids.push(id)),
        signal,
      }),
      untilCounted(db, { run, ids, total: deliveries.length, progress, signal }).then(() => over.abort()),
    ]);
  } finally {
    clearInterval(ticks);
    over.abort();
  }
  const seconds = (performance.now() - began) / 1000;
  const tally = await tallyOf(db, run);
  return {
    seconds,
    kills: await havoc,
    standing: await standingOf(db, ids),
    tally,
    differences: differences(deliveries, tally),
  };
}

interface Waiting {
  readonly run: string;
  readonly ids: readonly string[];
  readonly total: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function untilCounted(db: Db, { run, ids, total, progress, signal }: Waiting): Promise<void> {
  let last = { n: 0, at: performance.now() };
  while (last.n < total) {
    await sleep(200, undefined, { signal });
    const n = await counted(db, run);
    progress.completed(n);
    if (n !== last.n) last = { n, at: performance.now() };
    else if (performance.now() - last.at > STALL_SECONDS * 1000) throw new Error(await stalled(db, ids));
  }
}

async function stalled(db: Db, ids: readonly string[]): Promise<string> {
  const { states, diedOf } = await standingOf(db, ids);
  const where = Object.entries(states).map(([state, jobs]) => `${jobs} ${state}`);
  return `Nothing has moved for ${STALL_SECONDS} s: of ${ids.length} jobs ${where.join(', ')}${diedOf ? `; dead of "${diedOf}"` : ''}.`;
}
