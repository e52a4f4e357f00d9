/** A queue that is measured, with one set of settings. */
export interface System {
  /** `graphile-worker, best`, as it stands in the table. */
  readonly name: string;
  readonly version: string;
  /** What is set, in words: `concurrency 24, localQueue.size 500, completeJobBatchDelay 0`. And where its docs name it. */
  readonly settings: string;
  /** What it does less than Millrace does for each job, in words; empty for Millrace. */
  readonly less: string;
  /** What `install` makes has a name, so that systems with the same tables may share a loaded database. */
  readonly storage: string;
  /** Makes its tables in an empty database. */
  install(databaseUrl: string): Promise<void>;
  producer(databaseUrl: string, connections: number): Promise<Producer>;
  /** Starts this many worker processes, connected and waiting for `go()`. */
  workers(databaseUrl: string, processes: number, work: Work): Promise<Workers>;
  /** Jobs that the database holds as not yet at their end. */
  unsettled(databaseUrl: string): Promise<number>;
  /** The same with so many jobs at once in a process, for those that take their time. */
  atOnce(jobs: number): System;
}

export interface Producer {
  enqueue(payload: Payload): Promise<void>;
  /** In one call of the API that the system has for it; of 1,000 at most. */
  enqueueMany(payloads: readonly Payload[]): Promise<void>;
  close(): Promise<void>;
}

/** `n` tells jobs apart. Whatever else is in it makes it heavier. */
export interface Payload {
  readonly n: number;
  readonly [more: string]: unknown;
}

/** What a job does: nothing, wait so long, or fail at its first attempt with the shortest delay that the system allows. */
export type Work =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'fail once' };

export interface Workers {
  /** Begin claiming. Answers when, in milliseconds since the epoch, as all times here. */
  go(): number;
  /** Resolves when the database has confirmed the end of so many jobs since `go()`: when the last of them was. */
  done(jobs: number): Promise<number>;
  /** When each job began, by its `n`: of those that began since it was last asked. */
  startedAt(): Promise<ReadonlyMap<number, number>>;
  /** Ends the processes. */
  stop(): Promise<readonly Used[]>;
}

/** By one worker process. */
export interface Used {
  /** At its peak. */
  readonly rssBytes: number;
  /** Since `go()`. */
  readonly cpuSeconds: number;
}
