import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../frame/now.ts';
import type { Producer, Workers } from '../systems/system.ts';
import { payloads, SENDERS } from './schedule.ts';

/** Jobs in the queue at most: more than the workers take between two looks, and little enough to be no backlog. */
const WAITING = 5000;
const BATCH = 100;
const LOOK_MS = 50;

export interface Capacity {
  readonly perSecond: number;
  /** Jobs that were put in, numbered from 0. All of them have begun. */
  readonly jobs: number;
}

/**
 * What a system takes while jobs are put in beside it as fast as it takes them: the two share the machine, as they do later.
 * A part of the time is for warming up, and not counted.
 */
export async function capacityOf(producer: Producer, workers: Workers, seconds: number): Promise<Capacity> {
  const endsAt = now() + seconds * 1000;
  const countsFrom = now() + (seconds * 1000) / 3;
  let sent = 0;
  let begun = 0;
  let counted = 0;
  const send = async () => {
    while (now() < endsAt) {
      if (sent - begun > WAITING) {
        await sleep(1);
      } else {
        const first = sent;
        sent += BATCH;
        await producer.enqueueMany(payloads(first, BATCH));
      }
    }
  };
  const look = async (until: () => boolean) => {
    while (!until()) {
      await sleep(LOOK_MS);
      for (const at of (await workers.startedAt()).values()) {
        begun++;
        if (at >= countsFrom && at < endsAt) counted++;
      }
    }
  };
  const sending = Promise.all(Array.from({ length: SENDERS }, send));
  await Promise.all([sending, look(() => now() >= endsAt)]);
  await look(() => begun >= sent);
  return { perSecond: (counted * 1000) / (endsAt - countsFrom), jobs: sent };
}
