import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../../functions/queue/db.ts';
import { openPool } from '../../support/database.ts';
import { now } from '../frame/now.ts';
import type { Server } from '../frame/server.ts';
import type { Producer, System, Workers } from '../systems/system.ts';
import { capacityOf } from './capacity.ts';
import { pinHorizon } from './pin.ts';
import { dueAt, dueBy, perSecondOf, putIn, type Schedule, SENDERS, scheduleFrom } from './schedule.ts';
import type { Soak } from './series.ts';
import { type Sizes, sizesOf } from './sizes.ts';
import { Windows } from './windows.ts';

export interface SoakOptions {
  readonly system: System;
  /** The one that claims read. */
  readonly queueTable: string;
  /** What runs beside the workers in production. Resolves what ends it. */
  readonly beside?: (databaseUrl: string) => () => Promise<void>;
  readonly pinned: boolean;
  readonly seconds: number;
  readonly windowSeconds: number;
  /** For measuring what the system takes. */
  readonly capacitySeconds: number;
  readonly say: (sentence: string) => void;
}

/** The load as a share of what the system takes. */
const SHARE = 0.7;
const LOOK_MS = 1000;

/** A system at 70% of what it takes, for as long as is asked, with one worker process. */
export async function soak(server: Server, options: SoakOptions): Promise<Soak> {
  const { system } = options;
  const database = await server.database();
  const db = openPool(database.url, 1);
  try {
    await system.install(database.url);
    const producer = await system.producer(database.url, SENDERS);
    const workers = await system.workers(database.url, 1, { kind: 'nothing' });
    try {
      return await soaked({ db, databaseUrl: database.url, producer, workers }, options);
    } finally {
      await workers.stop();
      await producer.close();
    }
  } finally {
    await database.drop();
    await db.end();
  }
}

interface Ground {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly producer: Producer;
  readonly workers: Workers;
}

async function soaked(ground: Ground, options: SoakOptions): Promise<Soak> {
  const { db, databaseUrl, producer, workers } = ground;
  const { system, pinned, seconds, say } = options;
  const endBeside = options.beside?.(databaseUrl);
  try {
    workers.go();
    const { perSecond: capacityPerSecond, jobs } = await capacityOf(producer, workers, options.capacitySeconds);
    await workers.done(jobs);
    await db.query('VACUUM ANALYZE');
    const release = pinned ? await pinHorizon(databaseUrl) : undefined;
    try {
      const schedule = scheduleFrom({ perSecond: capacityPerSecond * SHARE, seconds, first: jobs });
      const perSecond = perSecondOf(schedule);
      say(`${system.name} takes ${Math.round(capacityPerSecond)} jobs/s, and gets ${perSecond}`);
      const measured = await underLoad(ground, schedule, options);
      const { name, version, settings } = system;
      return {
        system: name,
        version,
        settings,
        pinned,
        capacityPerSecond,
        perSecond,
        seconds,
        ...measured,
      };
    } finally {
      await release?.();
    }
  } finally {
    await endBeside?.();
  }
}

type Measured = Pick<Soak, 'windows' | 'firstMinuteP99Ms' | 'lastMinuteP99Ms'>;

/** What fails of the two ends the other. What a slow system has made late at the end is not put in any more. */
async function underLoad(ground: Ground, schedule: Schedule, options: SoakOptions): Promise<Measured> {
  const stop = new AbortController();
  const sending = putIn(ground.producer, schedule, stop.signal).catch((error: unknown) => {
    stop.abort();
    throw error;
  });
  const watching = watched(ground, schedule, { ...options, stop: stop.signal }).finally(() => stop.abort());
  const [measured] = await Promise.all([watching, sending]);
  return measured;
}

async function watched(
  { db, workers }: Ground,
  schedule: Schedule,
  { queueTable, seconds, windowSeconds, say, system, stop }: SoakOptions & { readonly stop: AbortSignal },
): Promise<Measured> {
  const waits = new Windows(schedule.beginsAt, seconds, windowSeconds);
  const ends: { second: number; waiting: number; sizes: Sizes }[] = [];
  let begun = 0;
  while (ends.length < waits.length && !stop.aborted) {
    const second = Math.min((ends.length + 1) * windowSeconds, seconds);
    const endsAt = schedule.beginsAt + second * 1000;
    await sleep(Math.max(0, Math.min(LOOK_MS, endsAt - now())));
    for (const [n, at] of await workers.startedAt()) {
      begun++;
      waits.add(at, at - dueAt(schedule, n));
    }
    if (now() < endsAt) continue;
    const waiting = dueBy(schedule, now()) - begun;
    ends.push({ second, waiting, sizes: await sizesOf(db, queueTable) });
    say(`${system.name}, ${second} s: p99 ${waits.at(ends.length - 1).p99Ms ?? '–'} ms, ${waiting} waiting`);
  }
  const minute = Math.max(1, Math.min(Math.round(60 / windowSeconds), Math.floor(waits.length / 2)));
  return {
    firstMinuteP99Ms: waits.p99Ms(0, minute),
    lastMinuteP99Ms: waits.p99Ms(waits.length - minute, waits.length),
    windows: ends.map(({ second, waiting, sizes }, n) => {
      const { begun: count, p50Ms, p99Ms } = waits.at(n);
      const length = second - n * windowSeconds;
      return { second, begunPerSecond: count / length, p50Ms, p99Ms, waiting, ...sizes };
    }),
  };
}
