import type { Db } from './db.ts';
import type { Slot } from './see-start.ts';

// The end of its presence also voids an earlier wake (take_wakes in migrations/0013): who was woken may have found this run, and left.
const CLEAR = `
UPDATE millrace.slots s
SET present_until = least(s.present_until, clock_timestamp()),
    job_seconds = coalesce((s.job_seconds + $4) / 2, $4, s.job_seconds)
WHERE s.worker = $1 AND s.slot = $2 AND s.token = $3`;

/**
 * Says that the run does not claim. The slot stays its own until another one takes it.
 * @param jobSeconds - as in `renewPresence`
 */
export async function clearPresence(db: Db, { worker, slot }: Slot, token: string, jobSeconds?: number): Promise<void> {
  await db.query(CLEAR, [worker, slot, token, jobSeconds ?? null]);
}
