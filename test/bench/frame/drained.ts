import { openClient } from '../../support/database.ts';
import type { System, Work } from '../systems/system.ts';
import type { Server } from './server.ts';
import { since, usage } from './usage.ts';

export interface DrainOf {
  readonly system: System;
  readonly jobs: number;
  readonly processes: number;
  readonly work: Work;
  /** A database that holds the jobs, as `loaded` makes one. It is copied, and stays. */
  readonly template: string;
}

/** One drain: from the start of the claiming to the end of the last job in the database. */
export async function drained(server: Server, { system, jobs, processes, work, template }: DrainOf) {
  const database = await server.database(template);
  try {
    const workers = await system.workers(database.url, processes, work);
    const client = await openClient(database.url);
    await server.checkpoint();
    const before = await usage(client, server.pid);
    const begun = workers.go();
    const ended = await workers.done(jobs);
    const used = await workers.stop();
    // A connection tells of its commits at its end at the latest.
    const { cpuSeconds, walBytes, commits } = since(before, await usage(client, server.pid));
    await client.end();
    const left = await system.unsettled(database.url);
    if (left !== 0) throw new Error(`${system.name} says that it is done, and ${left} of ${jobs} jobs are left`);
    const seconds = (ended - begun) / 1000;
    return {
      jobsPerSecond: jobs / seconds,
      walBytesPerJob: walBytes / jobs,
      commitsPerJob: commits / jobs,
      databaseCpuPerThousand: (cpuSeconds * 1000) / jobs,
      workerCpuPerThousand: (used.reduce((sum, one) => sum + one.cpuSeconds, 0) * 1000) / jobs,
      rssMegabytes: Math.max(...used.map(({ rssBytes }) => rssBytes)) / 1e6,
    };
  } finally {
    await database.drop();
  }
}
