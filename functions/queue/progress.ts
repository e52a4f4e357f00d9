import type { Db } from './db.ts';
import type { Claim, JobId } from './job.ts';

export type Progress = Claim & {
  /** 0 to 1. */
  readonly fraction: number;
  /** At most 500 characters that Postgres can hold. */
  readonly note: string | null;
};

// The fence is a lock, so that no row is written for a claim that ends in this very moment; SKIP LOCKED, because who holds the
// row for more than that is about to settle it. It hinders no cancel request, and makes no new version of the row.
const PROGRESS = `
WITH held AS MATERIALIZED (
  SELECT j.id, s.fraction, s.note
  FROM unnest($1::uuid[], $2::uuid[], $3::real[], $4::text[]) s(id, token, fraction, note)
  CROSS JOIN LATERAL (
    SELECT l.id
    FROM millrace.live_jobs l
    WHERE l.id = s.id AND l.locked_by = s.token
    FOR KEY SHARE SKIP LOCKED
  ) j
)
INSERT INTO millrace.job_progress AS p (id, fraction, note, updated_at)
SELECT h.id, h.fraction, h.note, clock_timestamp()
FROM held h
ON CONFLICT (id) DO UPDATE
SET fraction = excluded.fraction, note = excluded.note, updated_at = excluded.updated_at
RETURNING p.id`;

/**
 * Writes how far running jobs are, in the place of what was written before. Resolves the ids accepted by the fence. The row
 * is of the attempt that wrote it: the next claim hides it, and so does the job's end; `prune` deletes it.
 */
export async function writeProgress(db: Db, progress: readonly Progress[]): Promise<JobId[]> {
  if (progress.length === 0) return [];
  const { rows } = await db.query<{ id: JobId }>(PROGRESS, [
    progress.map(({ id }) => id),
    progress.map(({ token }) => token),
    progress.map(({ fraction }) => fraction),
    progress.map(({ note }) => note),
  ]);
  return rows.map(({ id }) => id);
}
