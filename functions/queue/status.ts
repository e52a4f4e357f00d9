import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';

const STATUS = `
SELECT j.status
FROM millrace.jobs j
WHERE j.id = $1`;

/** undefined: no such job. One statement over all tables: two would miss a row that moves between them. */
export async function statusOf(db: Db, id: JobId): Promise<Status | undefined> {
  return (await db.query<{ status: Status }>(STATUS, [id])).rows[0]?.status;
}
