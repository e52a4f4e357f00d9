import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as z from 'zod';
import { defineJob } from '../../../functions/queue/contract.ts';
import { run } from '../../../functions/queue/run.ts';
import { seeded } from '../../../local/demo/random.ts';
import type { ScriptedStart } from '../fleet.ts';
import { logNormal } from '../random.ts';
import type { Ground } from './ground.ts';
import { Watched } from './watched.ts';

const KIND = 'simulated.job';
const contracts = { [KIND]: defineJob({ payload: z.object({ n: z.number() }) }) };
/** Jobs that all took the same time would end in step with each other for ever, as none do. */
export const JOB_SPREAD = 0.3;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** A load for real workers, and how they are started. */
export interface RealLoad {
  /** Seconds from the beginning, for each job. */
  readonly arrivals: readonly number[];
  readonly jobMs: number;
  readonly concurrency: number;
  readonly starts: readonly ScriptedStart[];
  /** Seconds for which a run goes on asking when there is nothing to do. */
  readonly lingerSeconds: number;
  readonly seconds: number;
}

export interface Measured {
  /** From enqueue to start, of each job. */
  readonly waitedMs: number[];
  /** When each ended, in seconds from the beginning. */
  readonly endedAt: number[];
  readonly watched: Watched;
  /** CPU of this process, in seconds. */
  readonly cpuSeconds: number;
  /** How the runs ended. */
  readonly reasons: string[];
}

/** Lets real workers do it, against a real Postgres. */
export async function measure(ground: Ground, load: RealLoad): Promise<Measured> {
  await ground.empty();
  const watched = new Watched(ground.url);
  const producer = new pg.Client({ connectionString: ground.url });
  await producer.connect();
  const waitedMs: number[] = [];
  const endedAt: number[] = [];
  const random = seeded(1);
  const stop = new AbortController();
  const cpu = process.cpuUsage();
  const begunAt = performance.now();
  const since = () => (performance.now() - begunAt) / 1000;
  const start = async ({ at, slot, woken }: ScriptedStart) => {
    await sleep(at * 1000);
    const { reason } = await run({
      contracts,
      processors: { [KIND]: () => sleep(load.jobMs * logNormal(JOB_SPREAD, random)) },
      connect: watched.connect,
      concurrency: load.concurrency,
      transactions: 0,
      remainingMs: () => (load.seconds + 60 - since()) * 1000,
      lingerSeconds: load.lingerSeconds,
      slot: { worker: 'simulated', slot, woken },
      finish: stop.signal,
      log: SILENT,
      emit: (event) => {
        if (event.name === 'job.claimed') waitedMs.push(event.waitedMs);
        if (event.name === 'job.completed') endedAt.push(since());
      },
    });
    return reason;
  };
  const runs = load.starts.map(start);
  await put(producer, load.arrivals, since);
  await sleep(Math.max(0, load.seconds - since()) * 1000);
  stop.abort();
  const reasons = await Promise.all(runs);
  await producer.end();
  const { user, system } = process.cpuUsage(cpu);
  return { waitedMs, endedAt, watched, cpuSeconds: (user + system) / 1e6, reasons };
}

/** What is due at the same time goes in by one statement. */
async function put(producer: pg.Client, arrivals: readonly number[], since: () => number): Promise<void> {
  for (let next = 0; next < arrivals.length; ) {
    const at = arrivals[next] as number;
    if (at > since()) await sleep((at - since()) * 1000);
    let count = 0;
    while (next + count < arrivals.length && (arrivals[next + count] as number) <= at) count++;
    await producer.query(`SELECT millrace.enqueue($1, '{"n": 1}') FROM generate_series(1, $2::int)`, [KIND, count]);
    next += count;
  }
}
