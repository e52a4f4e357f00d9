import type { Db } from './db.ts';
import type { JobId } from './job.ts';
import type { Operator } from './operator.ts';

export interface ByHand {
  /** `overlap`: nothing was made, for a job of this schedule has not ended and its jobs do not overlap. */
  readonly outcome: 'fired' | 'overlap';
  /** Of the new job, or of that one. */
  readonly jobId: JobId;
}

const FIRE_BY_HAND = `
SELECT f.outcome, f.job_id AS "jobId"
FROM millrace.fire_by_hand($1, $2, $3) f`;

/**
 * Makes a job of a schedule now, of the kind and payload that its worker last declared, whether it is paused or not; its fire times
 * stay as they are. Resolves undefined if there is no such schedule. Harmless to repeat: see Operator.
 */
export async function fireByHand(db: Db, name: string, by?: Operator): Promise<ByHand | undefined> {
  const { rows } = await db.query<ByHand>(FIRE_BY_HAND, [name, by?.actor ?? null, by?.requestId ?? null]);
  return rows[0];
}
