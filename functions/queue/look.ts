import type { Db } from './db.ts';
import type { JobId } from './job.ts';

export interface Look {
  /** Those that are neither pending nor processing any more, gone ones included. */
  readonly ended: readonly JobId[];
  /** Other connections that wait as this one does, and were opened before it. */
  readonly ahead: number;
}

// Who waits is told from what connections last did: those of the same role and function with this statement as their latest,
// within the last second. Its own row lends it the text. By the function of pg_stat_activity: the view joins two catalogues
// to it, twice here, and takes 2.1 ms in place of 0.5. The subselect stays one probe a job, where a join could read the table.
const LOOK = `
SELECT
  ARRAY(
    SELECT w.id
    FROM unnest($1::uuid[]) w(id)
    WHERE (SELECT j.id FROM millrace.live_jobs j WHERE j.id = w.id) IS NULL
  ) AS ended,
  (
    SELECT count(*)::int
    FROM pg_stat_get_activity(pg_backend_pid()) me
    JOIN pg_stat_get_activity(NULL) other USING (datid, usesysid, application_name, query)
    WHERE other.state_change > clock_timestamp() - interval '1 second'
      AND (other.backend_start, other.pid) < (me.backend_start, me.pid)
  ) AS ahead`;

/** Which of these jobs have ended, for all who wait for one of them: one small statement. */
export async function look(db: Db, ids: readonly JobId[]): Promise<Look> {
  return (await db.query<Look>(LOOK, [ids])).rows[0] as Look;
}
