import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import { remaining, runOn } from './ground.ts';

/** Milliseconds that a run has: a second and a half in which it claims, and what it keeps free. */
const RUN_MS = 7_500;
const JOBS = 60;

/** What jobs do about their time: all of them yield to the event loop, not all of them to their signal. */
const HABITS: Record<string, (ctx: Context) => unknown> = {
  quick: () => sleep(Math.random() * 200),
  obedient: ({ signal }) => stopped(signal),
  late: ({ signal }) => stopped(signal).catch(() => sleep(1_500)),
  deaf: () => new Promise(() => {}),
  'deaf within its transaction': (ctx) => ctx.transaction((tx) => tx.query('SELECT pg_sleep(5)')),
};

export interface BusyRun {
  /** Milliseconds before its hard timeout at which it had ended. */
  readonly leftMs: number;
  readonly summary: RunSummary;
}

/** A run that has more to do than it can do until its end, in a queue of its own. */
export async function busyRun(db: Db, databaseUrl: string, queue: string): Promise<BusyRun> {
  await db.query(
    `SELECT millrace.enqueue('habit', jsonb_build_object('of', habit), queue => $2)
     FROM (SELECT ($1::text[])[1 + n % array_length($1, 1)] AS habit FROM generate_series(1, $3::int) n) h
     ORDER BY random()`,
    [Object.keys(HABITS), queue, JOBS],
  );
  const remainingMs = remaining(RUN_MS);
  const summary = await runOn(databaseUrl, {
    contracts: { habit: defineJob({ payload: z.object({ of: z.string() }), timeoutSeconds: 1 }) },
    processors: { habit: (payload, ctx) => HABITS[payload.of]?.(ctx) },
    queues: [queue],
    remainingMs,
    lingerSeconds: RUN_MS / 1000,
  });
  return { leftMs: remainingMs(), summary };
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}
