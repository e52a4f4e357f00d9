import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../frame/now.ts';
import type { Given, Order, Told } from './protocol.ts';
import type { Payload, Work } from './system.ts';

/** What the adapter of a system does in a worker process. */
export interface Worker {
  /** Begins claiming. */
  go(): void;
  /** Claims nothing more, and closes its connections. */
  stop(): Promise<void>;
}

export interface Inside<Settings> {
  readonly databaseUrl: string;
  readonly settings: Settings;
  readonly work: Work;
  /** The job itself. A processor calls it with the number of its attempt, 1 at the first. */
  readonly job: (payload: Payload, attempt: number) => void | Promise<void>;
  /** To be told how many more jobs the database has confirmed to be at their end. */
  readonly settled: (jobs: number) => void;
}

/** How often a change of the count is told. When it happened is told with it. */
const TELL_MS = 5;

/** The whole of a worker process but for `open`, which connects. */
export async function inside<Settings>(open: (inside: Inside<Settings>) => Promise<Worker>): Promise<void> {
  const { databaseUrl, work, settings } = JSON.parse(process.argv[2] as string) as Given;
  const starts: [number, number][] = [];
  const count = { settled: 0, at: 0, told: 0 };
  const worker = await open({
    databaseUrl,
    settings: settings as Settings,
    work,
    job: jobOf(work, starts),
    settled: (jobs) => {
      count.settled += jobs;
      count.at = now();
    },
  });
  let cpu = process.cpuUsage();
  setInterval(() => {
    if (count.settled > count.told) tell({ settled: count.settled, at: count.at });
    count.told = count.settled;
  }, TELL_MS);
  const orders: Record<Order, () => void | Promise<void>> = {
    go: () => {
      cpu = process.cpuUsage();
      worker.go();
    },
    starts: () => tell({ starts: starts.splice(0) }),
    stop: async () => {
      const { user, system } = process.cpuUsage(cpu);
      await worker.stop();
      const rssBytes = process.resourceUsage().maxRSS * 1024;
      process.stdout.write(line({ used: { rssBytes, cpuSeconds: (user + system) / 1e6 } }), () => process.exit());
    },
  };
  createInterface({ input: process.stdin })
    .on('line', (order) => orders[order as Order]())
    // The benchmark has died.
    .on('close', () => process.exit(1));
  tell({ ready: true });
}

function jobOf(work: Work, starts: [number, number][]): Inside<unknown>['job'] {
  const begin = ({ n }: Payload) => {
    starts.push([n, now()]);
  };
  switch (work.kind) {
    case 'nothing':
      return begin;
    case 'wait':
      return async (payload) => {
        begin(payload);
        await sleep(work.ms);
      };
    case 'fail once':
      return (payload, attempt) => {
        begin(payload);
        if (attempt === 1) throw new Error('the first attempt fails');
      };
  }
}

function tell(told: Told): void {
  process.stdout.write(line(told));
}

function line(told: Told): string {
  return `${JSON.stringify(told)}\n`;
}
