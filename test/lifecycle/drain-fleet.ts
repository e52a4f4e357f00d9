import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { openClient } from '../support/database.ts';
import type { Drained, FleetWorkerOptions } from './fleet-worker.ts';

const SCRIPT = fileURLToPath(new URL('./fleet-worker.ts', import.meta.url));
/** Every so manyth job has an effect in the database, by its own transaction. */
const EFFECT_EVERY = 20;

export interface Fleet {
  readonly workers: number;
  readonly jobs: number;
  /** Of each worker. */
  readonly concurrency: number;
  readonly transactions: number;
}

export interface FleetReport {
  readonly seconds: number;
  readonly workers: readonly Drained[];
  /** Transactions that the server has committed, statements of their own included. */
  readonly commits: number;
  /** Connections of workers at once, at most. */
  readonly connectionsAtOnce: number;
  readonly jobs: { readonly completed: number; readonly firstAttempts: number };
  readonly effects: { readonly all: number; readonly jobs: number };
}

/** Puts the jobs in, starts the workers, and lets them drain as one. */
export async function drainFleet(db: pg.Pool, databaseUrl: string, fleet: Fleet): Promise<FleetReport> {
  await db.query('CREATE TABLE public.effects (job uuid)');
  await db.query(
    `SELECT millrace.enqueue('fleet.job', jsonb_build_object('effect', n % $2 = 0)) FROM generate_series(1, $1::int) n`,
    [fleet.jobs, EFFECT_EVERY],
  );
  await db.query('VACUUM (ANALYZE) millrace.live_jobs');
  const options: FleetWorkerOptions = { databaseUrl, ...fleet };
  const children = Array.from({ length: fleet.workers }, () => fork(SCRIPT, [JSON.stringify(options)]));
  await Promise.all(children.map((child) => once(child, 'message')));

  const watched = await watchConnections(databaseUrl);
  const before = await commits(db);
  const startedAt = performance.now();
  const workers = await Promise.all(children.map(drained));
  const seconds = (performance.now() - startedAt) / 1000;
  const { atOnce, looks } = await watched.stop();
  // A backend tells what it did as it ends, and it ends a moment after its client.
  await watched.gone();
  return {
    seconds,
    workers,
    commits: (await commits(db)) - before - looks,
    connectionsAtOnce: atOnce,
    ...(await outcome(db)),
  };
}

async function drained(child: ChildProcess): Promise<Drained> {
  child.send('go');
  const [answer] = (await once(child, 'message')) as [Drained];
  return answer;
}

/** Looks all the time, over a connection of its own. */
async function watchConnections(databaseUrl: string) {
  const client = await openClient(databaseUrl);
  let atOnce = 0;
  let looks = 0;
  let stopped = false;
  const look = async () => {
    looks++;
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n
       FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace-test'`,
    );
    return (rows[0] as { n: number }).n;
  };
  const watching = (async () => {
    while (!stopped) atOnce = Math.max(atOnce, await look());
  })();
  return {
    stop: async () => {
      stopped = true;
      await watching;
      return { atOnce, looks };
    },
    gone: async () => {
      while ((await look()) > 0);
      await client.end();
    },
  };
}

async function commits(db: pg.Pool): Promise<number> {
  await db.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await db.query<{ n: number }>(
    'SELECT xact_commit::int AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  return (rows[0] as { n: number }).n;
}

async function outcome(db: pg.Pool): Promise<Pick<FleetReport, 'jobs' | 'effects'>> {
  const jobs = await db.query<FleetReport['jobs']>(
    `SELECT count(*)::int AS completed, count(*) FILTER (WHERE attempts = 1)::int AS "firstAttempts"
     FROM millrace.finished_jobs
     WHERE status = 'completed'`,
  );
  const effects = await db.query<FleetReport['effects']>(
    'SELECT count(*)::int AS all, count(DISTINCT job)::int AS jobs FROM public.effects',
  );
  return { jobs: jobs.rows[0] as FleetReport['jobs'], effects: effects.rows[0] as FleetReport['effects'] };
}
