import type { Db } from './db.ts';
import type { JobId } from './job.ts';
import type { Schedule } from './schedule.ts';

/** Instants in milliseconds since 1970. */
export interface Fire {
  readonly schedule: Pick<Schedule, 'name' | 'cron' | 'every' | 'zone'>;
  /** Fire times that are to come now, in order. */
  readonly times: readonly number[];
  /** They only pass. */
  readonly missed: boolean;
  /** The one after them, for people. */
  readonly next: number | undefined;
}

export interface Fired {
  readonly name: string;
  /** null if there was none. */
  readonly fireAt: number | null;
  /**
   * - `fired`: a job was put in
   * - `overlap`, `paused`, `missed`: it passed, since a job of it is live, it is paused, or it was to
   * - `over`: it has come before
   * - `ahead`: it has not come yet, by the database's clock
   * - `superseded`: other times were declared since, by other code
   * - `held`: somebody has the schedule's row at the moment, another run or one who fires by hand: ask again
   * - `noted`: there was no time; the next one is noted
   */
  readonly outcome: 'fired' | 'overlap' | 'paused' | 'missed' | 'over' | 'ahead' | 'superseded' | 'held' | 'noted';
  readonly jobId: JobId | null;
  /** The database's time. */
  readonly now: number;
}

const FIRE = `
SELECT f.name, floor(extract(epoch FROM f.fire_at) * 1000)::float8 AS "fireAt", f.outcome, f.job_id AS "jobId",
       floor(extract(epoch FROM f.fired_at) * 1000)::float8 AS now
FROM millrace.fire_schedules($1::text::jsonb) f`;

/**
 * Lets fire times come: each makes one job at most, however many ask for it and whatever dies in between, since the schedule's row
 * says up to when it has fired, and is written in the transaction that puts the job in. What was lost on the way may be sent again.
 */
export async function fire(db: Db, fires: readonly Fire[]): Promise<Fired[]> {
  return (await db.query<Fired>(FIRE, [JSON.stringify(fires.map(itemOf))])).rows;
}

/** JSON leaves out what is undefined. */
function itemOf({ schedule: { name, cron, every, zone }, times, missed, next }: Fire) {
  return { name, cron, every, zone, times: times.map(iso), missed, next_fire_at: next && iso(next) };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
