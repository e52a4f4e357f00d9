import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../frame/now.ts';
import type { Producer } from '../systems/system.ts';

/** What was put in: when each was meant to be, in milliseconds since the epoch, by its `n`. */
export type Offered = ReadonlyMap<number, number>;

/**
 * Puts jobs in at a steady rate, one by one, whatever the queue makes of it: each has its moment, and one that has to wait for a
 * connection is late from that moment on. The first has the number `first`. Resolves when all are in.
 */
export async function offer(
  producer: Producer,
  { first, perSecond, seconds }: { first: number; perSecond: number; seconds: number },
): Promise<Offered> {
  const offered = new Map<number, number>();
  const jobs = Math.max(1, Math.floor(perSecond * seconds));
  const begun = now();
  const sent: Promise<void>[] = [];
  while (sent.length < jobs) {
    for (; sent.length < jobs && begun + (sent.length * 1000) / perSecond <= now(); ) {
      const n = first + sent.length;
      offered.set(n, begun + (sent.length * 1000) / perSecond);
      sent.push(producer.enqueue({ n }));
    }
    await sleep(1);
  }
  await Promise.all(sent);
  return offered;
}

/** Puts jobs in as fast as so many callers can, one by one. Resolves how many. */
export async function offerAll(
  producer: Producer,
  { first, callers, seconds }: { first: number; callers: number; seconds: number },
): Promise<number> {
  const until = now() + seconds * 1000;
  let jobs = 0;
  const caller = async () => {
    while (now() < until) await producer.enqueue({ n: first + jobs++ });
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return jobs;
}
