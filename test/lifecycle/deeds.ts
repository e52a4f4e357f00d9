import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';

/** What a job of the tests does, told by its payload. */
const deeds = {
  finish: ({ ms }) => sleep(ms),
  fail: () => {
    throw new Error('as it was told to');
  },
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
    return {
      toJSON: () => {
        void Promise.reject(new Error('left behind by the result'));
        return 'kept';
      },
    };
  },
  /** Counts itself in the transaction that completes it. */
  effect: ({ ms }, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [ctx.job.id]);
      await sleep(ms);
    }),
  /** What time it is, as its worker takes it. */
  clock: () => Date.now(),
  /** Until its process is told to go on. */
  hold: () => once(process, 'SIGUSR2'),
  wait: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
} satisfies Record<string, (payload: { ms: number }, ctx: Context) => unknown>;

export type DeedName = keyof typeof deeds;

/** The one kind of these jobs, and the code of it. */
export function deedJobs({ timeoutSeconds = 20 }: { readonly timeoutSeconds?: number | undefined } = {}) {
  const names = Object.keys(deeds) as [DeedName, ...DeedName[]];
  const payload = z.object({ do: z.enum(names), ms: z.number().default(0) });
  return {
    contracts: { deed: defineJob({ payload, timeoutSeconds, backoff: { baseSeconds: 1, capSeconds: 1 } }) },
    processors: { deed: (payload: { do: DeedName; ms: number }, ctx: Context) => deeds[payload.do](payload, ctx) },
  };
}
