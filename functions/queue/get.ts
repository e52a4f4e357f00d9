import type { Db } from './db.ts';
import type { AttemptError, JobId } from './job.ts';
import { type JobView, VIEW_COLUMNS } from './job-view.ts';

export interface JobDetails extends JobView {
  /** The last 20 failed attempts, oldest first. */
  readonly errors: readonly AttemptError[];
  /** JSON text, not parsed: numbers that only Postgres can hold stay as they are. There only if asked for. */
  readonly payload?: string | null;
  /** JSON text likewise; null until the job is completed. */
  readonly result?: string | null;
}

export interface Include {
  readonly payload: boolean;
  readonly result: boolean;
}

// Whoever connects as a producer may ask this, and not the other.
const GET = `
SELECT ${VIEW_COLUMNS}, j.errors
FROM millrace.jobs_without_content(ARRAY[$1::uuid]) j`;

const GET_WITH_CONTENT = `
SELECT ${VIEW_COLUMNS}, j.errors,
  CASE WHEN $2 THEN j.payload::text END AS payload,
  CASE WHEN $3 THEN j.result::text END AS result
FROM millrace.jobs_of(ARRAY[$1::uuid]) j`;

/** One job, in whatever state; undefined if there is none, or not any more. */
export async function get(
  db: Db,
  id: JobId,
  include: Include = { payload: false, result: false },
): Promise<JobDetails | undefined> {
  const { rows } =
    include.payload || include.result
      ? await db.query<JobDetails>(GET_WITH_CONTENT, [id, include.payload, include.result])
      : await db.query<JobDetails>(GET, [id]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { payload = null, result = null, ...job } = row;
  return { ...job, ...(include.payload && { payload }), ...(include.result && { result }) };
}
