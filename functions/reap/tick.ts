import type { Metrics } from '../lambda/telemetry.ts';
import { prune } from '../queue/prune.ts';
import { pruneMarks } from '../queue/prune-marks.ts';
import { readiness } from '../queue/readiness.ts';
import { rollUp } from '../queue/roll-up.ts';
import type { StateMarks } from '../queue/state-marks.ts';
import { stats } from '../queue/stats.ts';
import { upkeep } from '../queue/upkeep.ts';
import { xminAge } from '../queue/xmin-age.ts';
import { type TakeBackOptions, type TakenBack, takeBack } from './take-back.ts';

/** Rows of a statement: some milliseconds of row locks. */
const PRUNE_BATCH = 2000;
/** Days that have their partition before they begin. */
const AHEAD_DAYS = 3;

/** What a tick did, part by part. */
export interface ReapSummary extends TakenBack {
  rolledUp: number;
  created: readonly string[];
  dropped: readonly string[];
  /** Somebody held a lock on the partitions: the next tick goes on. */
  postponed: boolean;
  /** Jobs; then idempotency keys, progress rows, rows of the operators' log, schedules that are no more, and marks of claims. */
  pruned: number;
  prunedKeys: number;
  prunedProgress: number;
  prunedLog: number;
  prunedSchedules: number;
  prunedMarks: number;
}

const NOTHING: ReapSummary = {
  reaped: 0,
  buried: 0,
  blocked: 0,
  rolledUp: 0,
  created: [],
  dropped: [],
  postponed: false,
  pruned: 0,
  prunedKeys: 0,
  prunedProgress: 0,
  prunedLog: 0,
  prunedSchedules: 0,
  prunedMarks: 0,
};

const PRUNED = ['pruned', 'prunedKeys', 'prunedProgress', 'prunedLog', 'prunedSchedules'] as const;

export interface TickOptions extends TakeBackOptions {
  /** Days that are kept: finished jobs with their payloads, dead jobs, idempotency keys. */
  readonly keepDays: number;
  readonly deadKeepDays: number;
  readonly keyKeepDays: number;
  /** What the ticks before have seen of the queue. Default: nothing. */
  readonly stateMarks?: StateMarks | undefined;
}

export interface Ticked {
  readonly done: ReapSummary;
  /** What was seen of the queue; a part that failed has measured nothing. */
  readonly measured: Metrics;
  readonly failures: readonly { readonly part: string; readonly error: unknown }[];
}

/**
 * One tick of the reaper: takes back jobs whose lease ran out, then keeps the tables small. A part that fails does not keep
 * the others from running; never rejects.
 */
export async function tick(options: TickOptions): Promise<Ticked> {
  const { db, keepDays, deadKeepDays, keyKeepDays, stateMarks, timeLeft } = options;
  const done = { ...NOTHING };
  const measured: Metrics = {};
  const failures = await inTurn({
    reap: () => takeBack(options, done),
    rollUp: async () => {
      done.rolledUp = await rollUp(db);
    },
    upkeep: async () => {
      Object.assign(done, await upkeep(db, { keepDays, aheadDays: AHEAD_DAYS }));
    },
    prune: async () => {
      for (let more = true; more && timeLeft(); ) {
        const pruned = await prune(db, { keepDays, deadKeepDays, keyKeepDays, limit: PRUNE_BATCH });
        for (const part of PRUNED) done[part] += pruned[part];
        more = pruned.more;
      }
    },
    pruneMarks: async () => {
      done.prunedMarks = await pruneMarks(db);
    },
    measureJobs: async () => {
      const { kinds } = await stats(db, stateMarks);
      measured.JobsPending = [sum(kinds.map((kind) => kind.pending)), 'Count'];
      measured.JobsDead = [sum(kinds.map((kind) => kind.dead)), 'Count'];
      measured.OldestDueAge = [Math.max(0, ...kinds.map((kind) => kind.oldestDueSeconds)), 'Seconds'];
    },
    measureClaims: async () => {
      measured.KindsUnclaimed = [(await readiness(db, stateMarks)).kindsUnclaimed, 'Count'];
    },
    measureHorizon: async () => {
      measured.XminAge = [await xminAge(db), 'Count'];
    },
  });
  return { done, measured, failures };
}

type Parts = Readonly<Record<string, () => Promise<void>>>;

async function inTurn(parts: Parts): Promise<{ part: string; error: unknown }[]> {
  const failures: { part: string; error: unknown }[] = [];
  for (const [part, run] of Object.entries(parts)) {
    await run().catch((error) => failures.push({ part, error }));
  }
  return failures;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
