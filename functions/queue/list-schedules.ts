import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import type { JobId } from './job.ts';
import type { CatchUp, Overlap } from './schedule.ts';

/** What becomes of a fire time: a job, or none, for one was live, the schedule was paused, or it passed and is not made up for. */
export const FIRE_OUTCOMES = ['fired', 'overlap', 'paused', 'missed'] as const;

/** A schedule as its worker last declared it, and what became of its fire times. Without its payload. Times as the API shows them. */
export interface ScheduleView {
  readonly name: string;
  /** As it is declared; one of the two is null. */
  readonly cron: string | null;
  readonly every: string | null;
  /** What `cron` is meant in; null without. */
  readonly zone: string | null;
  readonly kind: string;
  readonly queue: string;
  readonly catch_up: CatchUp;
  readonly overlap: Overlap;
  readonly paused: boolean;
  readonly next_fire_at: string | null;
  /** The last fire time that came, and what became of it. */
  readonly last_fire_at: string | null;
  readonly last_outcome: (typeof FIRE_OUTCOMES)[number] | null;
  /** Of the last fire time that made one. */
  readonly last_job_id: JobId | null;
  readonly declared_at: string;
}

const LIST = `
SELECT s.name, s.cron, s.every, s.zone, s.kind, s.queue, s.catch_up, s.overlap,
       EXISTS (
         SELECT
         FROM millrace.pauses p
         WHERE p.scope = 'schedule' AND p.name = s.name AND p.resumed_at IS NULL
       ) AS paused,
       to_char(s.next_fire_at AT TIME ZONE 'UTC', ${ISO}) AS next_fire_at,
       to_char(s.last_fire_at AT TIME ZONE 'UTC', ${ISO}) AS last_fire_at,
       s.last_outcome, s.last_job_id,
       to_char(s.declared_at AT TIME ZONE 'UTC', ${ISO}) AS declared_at
FROM millrace.schedules s
ORDER BY s.name`;

/** All of them, by name: there are as many as the code declares. */
export async function listSchedules(db: Db): Promise<ScheduleView[]> {
  return (await db.query<ScheduleView>(LIST)).rows;
}

const IS_DECLARED = `SELECT EXISTS (SELECT FROM millrace.schedules s WHERE s.name = $1) AS there`;

/** Whether a worker has declared it, and nothing has pruned it since. */
export async function isDeclared(db: Db, name: string): Promise<boolean> {
  return (await db.query<{ there: boolean }>(IS_DECLARED, [name])).rows[0]?.there === true;
}
