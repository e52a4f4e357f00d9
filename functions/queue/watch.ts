import type { Db } from './db.ts';
import type { Claim, JobId } from './job.ts';

export interface Watched {
  /** The claim is gone: reaped, settled, or never there. */
  readonly lost: JobId[];
  /** Somebody asked for the job to be cancelled. */
  readonly cancelled: JobId[];
}

const WATCH = `
SELECT s.id,
       (
         SELECT l.cancel_requested_at IS NOT NULL
         FROM millrace.live_jobs l
         WHERE l.id = s.id AND l.locked_by = s.token
       ) AS cancelled
FROM unnest($1::uuid[], $2::uuid[]) s(id, token)`;

/** What became of claims while they run: one small query a second for all jobs in flight. It changes nothing. */
export async function watch(db: Db, claims: readonly Claim[]): Promise<Watched> {
  if (claims.length === 0) return { lost: [], cancelled: [] };
  const { rows } = await db.query<{ id: JobId; cancelled: boolean | null }>(WATCH, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
  ]);
  return {
    lost: rows.filter((row) => row.cancelled === null).map((row) => row.id),
    cancelled: rows.filter((row) => row.cancelled).map((row) => row.id),
  };
}
