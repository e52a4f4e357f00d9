/* A worker as a process of its own, for tests that kill it. Speaks over IPC; SIGTERM drains it. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { QueueEvent } from '../../functions/queue/events.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import { runOn, silent } from './ground.ts';

export interface WorkerOptions {
  readonly databaseUrl: string;
  readonly concurrency?: number;
  readonly lingerSeconds?: number;
  readonly timeoutSeconds?: number;
  /** Hours by which this process takes the time to be another. */
  readonly clockWrongByHours?: number;
}

export type WorkerMessage =
  | QueueEvent
  | { readonly name: 'log'; readonly message: string }
  | { readonly name: 'ended'; readonly summary: RunSummary };

/** What a job of the tests does, told by its payload. */
const deeds: Record<string, (payload: { ms: number }, ctx: Context) => unknown> = {
  finish: ({ ms }) => sleep(ms),
  crash: async ({ ms }) => {
    await sleep(ms);
    process.kill(process.pid, 'SIGKILL');
    await sleep(60_000);
  },
  block: async ({ ms }) => {
    await sleep(ms);
    for (;;);
  },
  stray: async () => {
    void Promise.reject(new Error('left behind'));
    void sleep(20).then(() => {
      throw new Error('left behind, later');
    });
  },
  /** Counts itself in the transaction that completes it. */
  effect: ({ ms }, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [ctx.job.id]);
      await sleep(ms);
    }),
  wait: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
};

if (process.send) {
  const options = JSON.parse(process.argv[2] ?? '{}') as WorkerOptions;
  if (options.clockWrongByHours) shiftClock(options.clockWrongByHours);
  const shutdown = new AbortController();
  process.once('SIGTERM', () => shutdown.abort());
  const tell = (message: WorkerMessage) => process.send?.(message);
  const summary = await runOn(options.databaseUrl, {
    contracts: {
      deed: defineJob({
        payload: z.object({ do: z.string(), ms: z.number().default(0) }),
        timeoutSeconds: options.timeoutSeconds ?? 20,
      }),
    },
    processors: { deed: (payload, ctx) => deeds[payload.do]?.(payload, ctx) },
    concurrency: options.concurrency ?? 10,
    lingerSeconds: options.lingerSeconds ?? 0,
    signal: shutdown.signal,
    emit: (event) => {
      if (event.name !== 'claim.made') tell(event);
    },
    log: { ...silent, error: (message) => tell({ name: 'log', message }) },
  });
  await sleep(50);
  tell({ name: 'ended', summary });
  process.disconnect();
}

function shiftClock(hours: number): void {
  const shift = hours * 3_600_000;
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...args: unknown[]) {
      super(...((args.length > 0 ? args : [Real.now() + shift]) as [number]));
    }
    static override now(): number {
      return Real.now() + shift;
    }
  } as DateConstructor;
}
