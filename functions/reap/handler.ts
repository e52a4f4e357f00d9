import type { Context } from 'aws-lambda';
import { Database } from '../lambda/database.ts';
import { databaseEnv, readEnv, reapEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { once } from '../lambda/once.ts';
import { loggedEvents, type Metrics, putMetrics, snakeCased } from '../lambda/telemetry.ts';
import type { JobId } from '../queue/job.ts';
import { prune } from '../queue/prune.ts';
import { readiness } from '../queue/readiness.ts';
import { reap } from '../queue/reap.ts';
import { rollUp } from '../queue/roll-up.ts';
import { stats } from '../queue/stats.ts';
import { upkeep } from '../queue/upkeep.ts';
import { xminAge } from '../queue/xmin-age.ts';

/** Rows of a statement: some milliseconds of row locks. */
const REAP_BATCH = 500;
const PRUNE_BATCH = 2000;
/** Milliseconds that must remain to begin another statement. */
const LEAST_MS = 15_000;
/** Days that have their partition before they begin. */
const AHEAD_DAYS = 3;

const database = once(() => new Database(readEnv(databaseEnv), 'reap'));

/** What a tick did, part by part. */
export interface ReapSummary {
  reaped: number;
  /** Of those: the ones that are dead now. */
  buried: number;
  rolledUp: number;
  created: readonly string[];
  dropped: readonly string[];
  /** Somebody held a lock on the partitions: the next tick goes on. */
  postponed: boolean;
  /** Somebody's open transaction holds their unique key: the next tick tries again. */
  blocked: number;
  /** Jobs; then idempotency keys, progress rows, and rows of the operators' log. */
  pruned: number;
  prunedKeys: number;
  prunedProgress: number;
  prunedLog: number;
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
};

const PRUNED = ['pruned', 'prunedKeys', 'prunedProgress', 'prunedLog'] as const;

/**
 * One tick of the reaper: takes back jobs whose lease ran out, then keeps the tables small. A part that fails does not keep
 * the others from running; what failed is thrown at the end, all of it.
 */
export async function handler(_event: unknown, context: Context): Promise<ReapSummary> {
  const log = createLog({ function: 'reap', aws_request_id: context.awsRequestId });
  const {
    RETENTION_DAYS: keepDays,
    DEAD_RETENTION_DAYS: deadKeepDays,
    IDEMPOTENCY_RETENTION_DAYS: keyKeepDays,
  } = readEnv(reapEnv);
  const db = database();
  const timeLeft = () => context.getRemainingTimeInMillis() > LEAST_MS;
  const done = { ...NOTHING };
  const measured: Metrics = {};

  const failures = await inTurn({
    reap: async () => {
      const emit = loggedEvents(log);
      const blocked: JobId[] = [];
      for (let found = true; found && timeLeft(); ) {
        const jobs = await reap(db, { limit: REAP_BATCH, except: blocked });
        found = jobs.length > 0;
        for (const { status, ...job } of jobs) {
          if (status === 'blocked') blocked.push(job.id);
          if (status === 'blocked' || status === 'returned') continue;
          emit({ name: 'job.reaped', ...job, status });
          done.reaped++;
          if (status === 'dead') done.buried++;
        }
      }
      done.blocked = blocked.length;
    },
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
    measureJobs: async () => {
      const { kinds } = await stats(db);
      measured.JobsPending = [sum(kinds.map((kind) => kind.pending)), 'Count'];
      measured.JobsDead = [sum(kinds.map((kind) => kind.dead)), 'Count'];
      measured.OldestDueAge = [Math.max(0, ...kinds.map((kind) => kind.oldestDueSeconds)), 'Seconds'];
    },
    measureClaims: async () => {
      measured.KindsUnclaimed = [(await readiness(db)).kindsUnclaimed, 'Count'];
    },
    measureHorizon: async () => {
      measured.XminAge = [await xminAge(db), 'Count'];
    },
  });

  putMetrics(context, { JobsReaped: [done.reaped, 'Count'], JobsBuried: [done.buried, 'Count'], ...measured });
  log.info('tick ended', snakeCased(done));
  for (const { part, error } of failures) log.error('a part of the tick failed', { part, error });
  if (failures.length > 0) {
    const parts = failures.map(({ part }) => part).join(', ');
    throw new AggregateError(
      failures.map(({ error }) => error),
      `these parts of the tick failed: ${parts}`,
    );
  }
  return done;
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
