import type { Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { type DeclaredSchedule, declarable, declare } from './declare.ts';
import { dueTimes } from './due-times.ts';
import type { Emit } from './events.ts';
import { type Fire, type Fired, fire } from './fire.ts';
import { type FireTimes, fireTimes } from './fire-times.ts';
import { contractOf } from './kinds.ts';
import { faultOf } from './postgres-error.ts';
import type { Schedule } from './schedule.ts';

/** Milliseconds after which the database is asked for its time again: this machine's clock may have stood still meanwhile. */
const LOOK_AGAIN_MS = 60_000;
/** Milliseconds after which what the database refused is tried again. */
const REFUSED_MS = 60_000;
/** Milliseconds after which a schedule is asked for again that somebody had. */
const HELD_MS = 1_000;
/** Fire times that one statement carries: some 40 ms. What is left comes in the next rounds of the run, with claims between them. */
export const FIRE_BATCH = 200;

/** A schedule and what this run knows of it; instants by the database's clock. */
interface Watched {
  readonly schedule: Schedule;
  readonly times: FireTimes;
  /** Fire times up to here are over. */
  after: number;
  /** When there is something to do. */
  actAt: number;
}

export interface FiringOptions {
  readonly contracts: Contracts;
  readonly schedules?: readonly Schedule[] | undefined;
  /** Queues that the run serves: it fires what goes there. */
  readonly queues: readonly string[];
}

/** undefined: there is nothing for this run to fire. The schedules are checked (run-options.ts). */
export function firingOf({ contracts, schedules = [], queues }: FiringOptions, emit: Emit): Firing | undefined {
  const own = schedules.filter(({ kind }) => queues.includes(contractOf(contracts, kind)?.queue ?? ''));
  return own.length === 0 ? undefined : new Firing(contracts, own, emit);
}

/**
 * Fires schedules for as long as a run goes on: what was missed when it begins, then each time when it comes. The clock is the
 * database's: what it said last, and what has gone by since on the monotonic clock. It lies behind by the way of an answer and
 * never ahead; and SQL refuses what has not come yet.
 */
export class Firing {
  readonly #contracts: Contracts;
  readonly #schedules: readonly Schedule[];
  readonly #emit: Emit;
  readonly #watched = new Map<string, Watched>();
  #clock: { readonly now: number; readonly seenAt: number } | undefined;
  /** Of the schedules, when the first of them has something to do: by the monotonic clock until they are declared. */
  #actAt = 0;
  /** How often in a row it failed, and until when it rests for that, by the monotonic clock. */
  #failures = 0;
  #restUntil = 0;

  constructor(contracts: Contracts, schedules: readonly Schedule[], emit: Emit) {
    this.#contracts = contracts;
    this.#schedules = schedules;
    this.#emit = emit;
  }

  /** Milliseconds until there is something to do. `now`: of the monotonic clock. */
  restMs(now: number): number {
    const failedMs = this.#restUntil - now;
    if (this.#clock === undefined) return Math.max(0, failedMs, this.#actAt - now);
    const lookAgainMs = this.#clock.seenAt + LOOK_AGAIN_MS - now;
    return Math.max(0, failedMs, Math.min(this.#actAt - this.#databaseNow(now), lookAgainMs));
  }

  /**
   * Does what is due: at first it declares the schedules, one statement, and whenever fire times have come, one for all of them, or
   * for the first `FIRE_BATCH`. What the database refuses is told and tried again in a minute: a run does not end for it.
   * @throws what is to be tried again, on this connection or another one: at once, and when that fails too after rests that grow from
   * a second to a minute, so that the run has its turn
   */
  async fire(db: Db): Promise<void> {
    if (this.restMs(performance.now()) > 0) return;
    try {
      await this.#fireDue(db);
      this.#failures = 0;
    } catch (error) {
      const restMs = this.#failures === 0 ? 0 : Math.min(REFUSED_MS, HELD_MS * 2 ** (this.#failures - 1));
      this.#failures++;
      this.#restUntil = performance.now() + restMs;
      throw error;
    }
  }

  async #fireDue(db: Db): Promise<void> {
    if (this.#clock === undefined) await this.#declare(db);
    if (this.#clock === undefined) return;
    const due = this.#due(this.#databaseNow(performance.now()));
    if (due.length > 0) await this.#fireAll(db, due);
    else if (this.#clock.seenAt + LOOK_AGAIN_MS <= performance.now()) this.#set(await databaseNow(db));
    this.#actAt = Math.min(...[...this.#watched.values()].map(({ actAt }) => actAt));
  }

  async #declare(db: Db): Promise<void> {
    const declarables = await this.#declarables();
    const declared = await declare(db, declarables).catch((error: unknown) => {
      for (const { name } of declarables) this.#refused(name, error);
      this.#actAt = performance.now() + REFUSED_MS;
      return undefined;
    });
    if (declared === undefined) return;
    // There may be none left, if nothing could be sealed; then there is nothing to watch.
    this.#set(declared.at(-1)?.now ?? 0);
    for (const { name, firesFrom, nextFireAt, now } of declared) {
      const schedule = this.#schedules.find((one) => one.name === name) as Schedule;
      const times = fireTimes(schedule);
      const next = times.next(firesFrom) ?? Infinity;
      // What is shown of it is put right at once, too.
      this.#watched.set(name, {
        schedule,
        times,
        after: firesFrom,
        actAt: next === nextFireAt ? next : Math.min(next, now),
      });
    }
  }

  /** Without those that cannot be sealed. */
  async #declarables(): Promise<DeclaredSchedule[]> {
    const all: DeclaredSchedule[] = [];
    for (const schedule of this.#schedules) {
      await declarable(schedule, this.#contracts).then(
        (one) => all.push(one),
        (error: unknown) => this.#emit({ name: 'schedule.failed', schedule: schedule.name, reason: messageOf(error) }),
      );
    }
    return all;
  }

  /** Who has waited longest comes first. */
  #due(now: number): Fire[] {
    const due = [...this.#watched.values()].filter(({ actAt }) => actAt <= now).sort((a, b) => a.actAt - b.actAt);
    const fires: Fire[] = [];
    let left = FIRE_BATCH;
    for (const { schedule, times, after } of due) {
      if (left <= 0) break;
      const { times: all, missed } = dueTimes(times, schedule.catchUp, { after, now });
      const some = all.slice(0, left);
      // One that has none is noted, which costs as much.
      left -= Math.max(1, some.length);
      fires.push({ schedule, times: some, missed, next: all[some.length] ?? times.next(now) });
    }
    return fires;
  }

  /** All in one statement; if the database refuses that, one by one, so that a bad one costs only itself. */
  async #fireAll(db: Db, fires: readonly Fire[]): Promise<void> {
    try {
      for (const fired of await fire(db, fires)) this.#note(fired, fires);
    } catch (error) {
      if (fires.length > 1 && isRefusal(error)) {
        for (const one of fires) await this.#fireAll(db, [one]);
        return;
      }
      for (const { schedule } of fires) this.#refused(schedule.name, error);
    }
  }

  #note({ name, fireAt, outcome, jobId, now }: Fired, fires: readonly Fire[]): void {
    this.#set(now);
    const watched = this.#watched.get(name) as Watched;
    const { kind } = watched.schedule;
    watched.actAt = fires.find(({ schedule }) => schedule.name === name)?.next ?? Infinity;
    if (outcome === 'superseded') this.#watched.delete(name);
    if (outcome === 'held') watched.actAt = now + HELD_MS;
    if (outcome === 'ahead') watched.actAt = watched.times.next(watched.after) ?? Infinity;
    if (fireAt === null || outcome === 'held' || outcome === 'ahead') return;
    watched.after = fireAt;
    const at = new Date(fireAt).toISOString();
    if (outcome === 'fired' && jobId !== null) {
      this.#emit({ name: 'schedule.fired', schedule: name, kind, fireAt: at, jobId, lateMs: now - fireAt });
    } else if (outcome !== 'over' && outcome !== 'noted' && outcome !== 'fired') {
      this.#emit({ name: 'schedule.passed', schedule: name, kind, fireAt: at, why: outcome });
    }
  }

  /** @throws the error, if it is none of the schedule's */
  #refused(name: string, error: unknown): void {
    if (!isRefusal(error)) throw error;
    this.#emit({ name: 'schedule.failed', schedule: name, reason: messageOf(error) });
    const watched = this.#watched.get(name);
    if (watched !== undefined) watched.actAt = this.#databaseNow(performance.now()) + REFUSED_MS;
  }

  #set(now: number): void {
    this.#clock = { now, seenAt: performance.now() };
  }

  #databaseNow(now: number): number {
    const { now: said, seenAt } = this.#clock as { now: number; seenAt: number };
    return said + now - seenAt;
  }
}

function isRefusal(error: unknown): boolean {
  const fault = faultOf(error);
  return fault === 'row' || fault === 'fatal';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const NOW = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now';

async function databaseNow(db: Db): Promise<number> {
  return (await db.query<{ now: number }>(NOW)).rows[0]?.now ?? 0;
}
