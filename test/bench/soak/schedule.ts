import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../frame/now.ts';
import type { Producer } from '../systems/system.ts';

/** Milliseconds from one batch to the next. */
const TICK_MS = 10;
/** Connections that put jobs in. */
export const SENDERS = 4;

/**
 * A steady rate, kept whatever becomes of the jobs. When each job is due is known beforehand, so a time counted from there has
 * every wait in it: of a producer that is held up too, which would otherwise ask less of a slow system than of a fast one.
 */
export interface Schedule {
  /** Milliseconds since the epoch. */
  readonly beginsAt: number;
  readonly endsAt: number;
  /** Of the jobs before it: the first has this `n`. */
  readonly first: number;
  readonly perTick: number;
}

export function scheduleFrom({
  perSecond,
  seconds,
  first,
}: {
  perSecond: number;
  seconds: number;
  first: number;
}): Schedule {
  // A moment for the senders to begin on time.
  const beginsAt = now() + 50;
  return {
    beginsAt,
    endsAt: beginsAt + seconds * 1000,
    first,
    perTick: Math.max(1, Math.round((perSecond * TICK_MS) / 1000)),
  };
}

export function perSecondOf({ perTick }: Pick<Schedule, 'perTick'>): number {
  return (perTick * 1000) / TICK_MS;
}

/** When the job of this number is to be put in. */
export function dueAt({ beginsAt, first, perTick }: Schedule, n: number): number {
  return beginsAt + Math.floor((n - first) / perTick) * TICK_MS;
}

/** Jobs that were to be put in by then. */
export function dueBy({ beginsAt, endsAt, perTick }: Schedule, at: number): number {
  return Math.max(0, Math.floor((Math.min(at, endsAt - 1) - beginsAt) / TICK_MS) + 1) * perTick;
}

/** Puts all of them in. Late batches follow at once, one behind the other on each connection. */
export async function putIn(producer: Producer, schedule: Schedule, stop: AbortSignal): Promise<void> {
  const ticks = Math.ceil((schedule.endsAt - schedule.beginsAt) / TICK_MS);
  let next = 0;
  const send = async () => {
    for (let tick = next++; tick < ticks && !stop.aborted; tick = next++) {
      const first = schedule.first + tick * schedule.perTick;
      const early = dueAt(schedule, first) - now();
      if (early > 0) await sleep(early);
      await producer.enqueueMany(payloads(first, schedule.perTick));
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
}

export function payloads(first: number, count: number): { n: number }[] {
  return Array.from({ length: count }, (_, at) => ({ n: first + at }));
}
