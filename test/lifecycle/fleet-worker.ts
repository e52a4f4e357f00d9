/* One worker of a fleet, as a process of its own: says that it is there, waits for a word, drains, and answers over IPC. */
import { once } from 'node:events';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import { connectTo, runOn } from './ground.ts';

export interface FleetWorkerOptions {
  readonly databaseUrl: string;
  readonly concurrency: number;
  readonly transactions: number;
}

/** What it did; `claims` are claim statements, `emptyClaims` those of them that brought nothing. */
export interface Drained extends RunSummary {
  readonly claims: number;
  readonly emptyClaims: number;
  readonly connections: number;
}

if (process.send) {
  const { databaseUrl, concurrency, transactions } = JSON.parse(process.argv[2] ?? '{}') as FleetWorkerOptions;
  const connect = connectTo(databaseUrl);
  const counts = { claims: 0, emptyClaims: 0, connections: 0 };
  process.send('ready');
  await once(process, 'message');
  const summary = await runOn(databaseUrl, {
    contracts: { 'fleet.job': defineJob({ payload: z.object({ effect: z.boolean() }) }) },
    processors: { 'fleet.job': ({ effect }, ctx) => (effect ? happens(ctx) : undefined) },
    connect: () => {
      counts.connections++;
      return connect();
    },
    concurrency,
    transactions,
    remainingMs: () => Infinity,
    emit: (event) => {
      if (event.name !== 'claim.made') return;
      counts.claims++;
      if (event.claimed === 0) counts.emptyClaims++;
    },
  });
  process.send({ ...summary, ...counts } satisfies Drained);
  process.disconnect();
}

function happens(ctx: Context): Promise<void> {
  return ctx.transaction(async (tx) => {
    await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [ctx.job.id]);
  });
}
