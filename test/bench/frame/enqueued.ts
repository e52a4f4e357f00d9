import { openClient } from '../../support/database.ts';
import type { System } from '../systems/system.ts';
import type { Server } from './server.ts';
import { percentile } from './spread.ts';
import { since, usage } from './usage.ts';

export interface EnqueueOf {
  readonly system: System;
  readonly jobs: number;
  readonly callers: number;
  /** Jobs of a call. 1: the call for a single one. */
  readonly batch: number;
  /** A database in which it is installed. It is copied, and stays. */
  readonly template: string;
}

/** So many jobs put in by callers that go on at once, each with its next call when the one before is answered. */
export async function enqueued(server: Server, { system, jobs, callers, batch, template }: EnqueueOf) {
  const database = await server.database(template);
  try {
    const producer = await system.producer(database.url, callers);
    const client = await openClient(database.url);
    const call = async (from: number) => {
      if (batch === 1) return producer.enqueue({ n: from });
      return producer.enqueueMany(Array.from({ length: batch }, (_, at) => ({ n: from + at })));
    };
    // Opens every connection, and lets the database plan what it is going to be asked.
    const opened = callers * batch;
    await Promise.all(Array.from({ length: callers }, () => call(0)));
    await server.checkpoint();
    const milliseconds: number[] = [];
    let next = 0;
    const caller = async () => {
      while (next < jobs) {
        const from = next;
        next += batch;
        const begun = performance.now();
        await call(from);
        milliseconds.push(performance.now() - begun);
      }
    };
    const before = await usage(client, server.pid);
    const cpu = process.cpuUsage();
    const begun = performance.now();
    await Promise.all(Array.from({ length: callers }, caller));
    const seconds = (performance.now() - begun) / 1000;
    const { user, system: inKernel } = process.cpuUsage(cpu);
    await producer.close();
    const { cpuSeconds, walBytes } = since(before, await usage(client, server.pid));
    await client.end();
    const there = await system.unsettled(database.url);
    if (there !== jobs + opened) throw new Error(`${system.name} holds ${there} jobs, not ${jobs + opened}`);
    return {
      jobsPerSecond: jobs / seconds,
      p50Ms: percentile(milliseconds, 0.5),
      p99Ms: percentile(milliseconds, 0.99),
      walBytesPerJob: walBytes / jobs,
      databaseCpuPerThousand: (cpuSeconds * 1000) / jobs,
      callerCpuPerThousand: (user + inKernel) / 1000 / jobs,
    };
  } finally {
    await database.drop();
  }
}
