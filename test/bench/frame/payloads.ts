import type { Db } from '../../../functions/queue/db.ts';

/** Gives each finished and each live job a payload: for jobs that were laid by INSERT, and have none yet. */
export async function layPayloads(db: Db): Promise<void> {
  await db.query(
    `INSERT INTO millrace.payloads
     SELECT id, '{"n": 1}'::jsonb FROM millrace.finished_jobs
     UNION ALL
     SELECT id, '{"n": 1}'::jsonb FROM millrace.live_jobs`,
  );
}
