import type { Db } from '../../functions/queue/db.ts';

export interface ScheduleFields {
  name?: string;
  /** `0 2 * * *` in Europe/Berlin unless this is given. */
  every?: string;
  kind?: string;
  queue?: string;
  payload?: unknown;
  overlap?: 'skip' | 'allow';
  /** Default 0. */
  declaredSecondsAgo?: number;
  /** The last fire time that came, in whole minutes ago; default: none has. */
  firedMinutesAgo?: number;
  /** What became of it. Default `fired`, by a job that has gone since. */
  outcome?: 'fired' | 'overlap' | 'paused' | 'missed';
}

/** The row of a schedule as a worker's declaration leaves it, due again in an hour. Resolves its name. */
export async function declaredSchedule(db: Db, fields: ScheduleFields = {}): Promise<string> {
  const { name = 'report.nightly', every, kind = 'report.build', queue = 'default', firedMinutesAgo } = fields;
  const cron = every === undefined ? '0 2 * * *' : null;
  const fired = firedMinutesAgo !== undefined;
  await db.query(
    `INSERT INTO millrace.schedules
       (name, cron, every, zone, kind, queue, max_attempts, payload, catch_up, overlap, declared_at, next_fire_at,
        last_fire_at, last_outcome, last_job_id)
     VALUES ($1, $2, $3, $4, $5, $6, 5, $7, 'latest', $8, now() - make_interval(secs => $9),
             date_trunc('minute', now() + interval '1 hour'),
             date_trunc('minute', now() - make_interval(mins => $10)), $11, CASE $11 WHEN 'fired' THEN millrace.uuidv7() END)`,
    [
      name,
      cron,
      every ?? null,
      cron === null ? null : 'Europe/Berlin',
      kind,
      queue,
      JSON.stringify(fields.payload ?? {}),
      fields.overlap ?? 'skip',
      fields.declaredSecondsAgo ?? 0,
      firedMinutesAgo ?? null,
      fired ? (fields.outcome ?? 'fired') : null,
    ],
  );
  return name;
}
