/* The process that worker.ts measures: one run, with nothing else in it. Answers over IPC. */
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { connectTo, runOn } from '../lifecycle/ground.ts';

export const KIND = 'bench.noop';

export interface Drain {
  readonly databaseUrl: string;
  readonly concurrency: number;
  readonly lingerSeconds: number;
}

export interface Drained {
  readonly completed: number;
  readonly seconds: number;
  /** Of this process, at the end of the run. */
  readonly rssBytes: number;
}

if (process.send) {
  const { databaseUrl, concurrency, lingerSeconds } = JSON.parse(process.argv[2] ?? '{}') as Drain;
  const startedAt = performance.now();
  const { completed } = await runOn(databaseUrl, {
    contracts: { [KIND]: defineJob({ payload: z.object({ n: z.number() }) }) },
    processors: { [KIND]: () => {} },
    connect: connectTo(databaseUrl),
    concurrency,
    lingerSeconds,
    remainingMs: () => Infinity,
  });
  const drained: Drained = {
    completed,
    seconds: (performance.now() - startedAt) / 1000,
    rssBytes: process.memoryUsage().rss,
  };
  process.send(drained);
}
