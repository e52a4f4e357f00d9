import type { Db } from '../../../functions/queue/db.ts';
import { pause } from '../../../functions/queue/pause.ts';
import type { PlanMode } from '../../queue/pages.ts';
import { finished, pending, processing } from './lay.ts';
import { PAUSED_KIND, TrapWorker } from './worker.ts';

/** What may lie around the jobs that a worker is to claim, and must not make its claims dearer. */
export interface Trap {
  /** `future`, as in `--only trap-future`. */
  readonly name: string;
  /** Of so many rows, in words. */
  what(rows: string): string;
  /** In the benchmark; the tests lay fewer. */
  readonly rows: number;
  /** For the benchmark with `--quick`. Default a fiftieth. */
  readonly quickRows?: number;
  lay(db: Db, rows: number): Promise<void>;
  /** A transaction of somebody else's is open meanwhile, and has been since before it was laid. */
  readonly pinned?: boolean;
  /** What the planner knows. Default: all, since ANALYZE has come after it. */
  readonly statistics?: Statistics;
  /** What the worker's connection plans with. Default as Postgres sees fit. */
  readonly planMode?: PlanMode;
}

/**
 * - `none`: no ANALYZE since the tables were made
 * - `stale`: since a time when all was different
 * - `empty`: since the queue was empty, as it is found by a vacuum that comes in a quiet minute
 */
export type Statistics = 'none' | 'stale' | 'empty';

/** Far behind where a claim that comes now has to look. */
const AN_HOUR_AGO = -3600;

export const traps: readonly Trap[] = [
  {
    name: 'backlog',
    what: (rows) => `${rows} due jobs, of which it takes the first`,
    rows: 1_000_000,
    lay: (db, rows) => pending(db, { rows, dueInSeconds: AN_HOUR_AGO }),
  },
  {
    name: 'future',
    what: (rows) => `${rows} jobs of the most urgent priority that are due in an hour`,
    rows: 1_000_000,
    lay: (db, rows) => pending(db, { rows, dueInSeconds: 3600, priority: '5' }),
  },
  {
    name: 'foreign-kinds',
    what: (rows) => `${rows} due jobs of kinds that the worker lacks, as urgent as its own and more`,
    rows: 200_000,
    lay: (db, rows) => pending(db, { rows, dueInSeconds: AN_HOUR_AGO, kind: 'bench.foreign', priority: 'n % 2' }),
  },
  {
    name: 'paused-kind',
    what: (rows) => `${rows} due jobs of a kind of its own that is paused`,
    rows: 200_000,
    lay: async (db, rows) => {
      await pending(db, { rows, dueInSeconds: AN_HOUR_AGO, kind: PAUSED_KIND, priority: 'n % 2' });
      await pause(db, 'kind', PAUSED_KIND);
    },
  },
  {
    name: 'finished',
    what: (rows) => `${rows} finished jobs of today`,
    rows: 10_000_000,
    quickRows: 50_000,
    lay: finished,
  },
  {
    name: 'pinned-horizon',
    what: (rows) => `${rows} jobs put in and done since a transaction began that is still open`,
    rows: 200_000,
    pinned: true,
    lay: flow,
  },
  {
    name: 'dead-suspects',
    what: (rows) => `${rows} suspects that have died since a transaction began that is still open`,
    rows: 10_000,
    pinned: true,
    lay: deadSuspects,
  },
  {
    name: 'all-priorities',
    what: (rows) => `${rows} due jobs in all 11 priorities`,
    rows: 200_000,
    lay: (db, rows) => pending(db, { rows, dueInSeconds: AN_HOUR_AGO, priority: 'n % 11 - 5' }),
  },
  {
    name: 'processing',
    what: (rows) => `${rows} jobs that are running`,
    rows: 100_000,
    lay: processing,
  },
  {
    name: 'no-statistics',
    what: (rows) => `${rows} jobs: due, of kinds that it lacks, and due later; and no ANALYZE since they came`,
    rows: 200_000,
    statistics: 'none',
    lay: mixture,
  },
  {
    name: 'stale-statistics',
    what: (rows) => `the same ${rows}, and an ANALYZE from when all was different`,
    rows: 200_000,
    statistics: 'stale',
    lay: mixture,
  },
  {
    name: 'statistics-of-none',
    what: (rows) => `the same ${rows}, and an ANALYZE from when the queue was empty`,
    rows: 200_000,
    statistics: 'empty',
    lay: mixture,
  },
  {
    name: 'generic-plans',
    what: (rows) => `the same ${rows}, and plans that are made without the values`,
    rows: 200_000,
    planMode: 'force_generic_plan',
    lay: mixture,
  },
];

async function mixture(db: Db, rows: number): Promise<void> {
  const third = { rows: Math.floor(rows / 3) };
  await pending(db, { ...third, dueInSeconds: AN_HOUR_AGO, kind: 'bench.foreign' });
  await pending(db, { ...third, dueInSeconds: AN_HOUR_AGO });
  await pending(db, { ...third, dueInSeconds: 3600, priority: '5' });
}

/** As they would come by: put in, claimed and completed, a thousand at a time. */
async function flow(db: Db, rows: number): Promise<void> {
  const worker = new TrapWorker();
  for (let left = rows; left > 0; left -= 1000) {
    await pending(db, { rows: Math.min(left, 1000) });
    for (let found = true; found; ) {
      const claimed = await worker.claim(db, 500);
      await worker.complete(db, claimed);
      found = claimed.jobs.length > 0;
    }
  }
  await worker.leave(db);
}

async function deadSuspects(db: Db, rows: number): Promise<void> {
  await pending(db, { rows, dueInSeconds: AN_HOUR_AGO });
  await db.query('UPDATE millrace.live_jobs SET reaps = 2, attempts = 2');
  await clear(db);
}

/** Every job had a kind of its own, and was either running on an expired lease or a suspect that was due. */
export async function otherTimes(db: Db, rows = 2000): Promise<void> {
  await pending(db, { rows, dueInSeconds: -60 });
  await db.query(`UPDATE millrace.live_jobs SET kind = 'bench.' || id, attempts = 4, reaps = 3`);
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', locked_by = gen_random_uuid(), locked_until = now() - interval '1 hour'
     WHERE random() < 0.5`,
  );
  await db.query('ANALYZE millrace.live_jobs, millrace.payloads');
  await clear(db);
}

/** Many jobs have come and gone but for the last, which keeps the table as large as it was, and vacuum has been there. */
export async function quietMinute(db: Db, rows = 5000): Promise<void> {
  await pending(db, { rows });
  await clear(db);
  await pending(db, { rows: 1, dueInSeconds: 86_400 });
  await db.query('VACUUM ANALYZE millrace.live_jobs, millrace.payloads');
}

async function clear(db: Db): Promise<void> {
  await db.query('DELETE FROM millrace.live_jobs');
  await db.query('DELETE FROM millrace.payloads');
}
