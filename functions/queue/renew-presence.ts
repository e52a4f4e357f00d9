import type { Db } from './db.ts';
import type { Slot } from './see-start.ts';

/** Seconds for which others believe that a run claims, after it has said so: at most, and as migrations/0013 has it. */
export const PRESENCE_SECONDS = 10;

const RENEW = `
UPDATE millrace.slots s
SET present_until = clock_timestamp() + make_interval(secs => $4),
    job_seconds = coalesce((s.job_seconds + $5) / 2, $5, s.job_seconds)
WHERE s.worker = $1 AND s.slot = $2 AND s.token = $3
RETURNING true`;

/**
 * Says that the run claims, also after it had said that it does not. Resolves false if another one has its slot.
 * @param seconds - for how long that is to be believed
 * @param jobSeconds - for which a job took one of its places, as the last ones did; `undefined`: there were none
 */
export async function renewPresence(
  db: Db,
  { worker, slot }: Slot,
  token: string,
  seconds: number,
  jobSeconds?: number,
) {
  const { rows } = await db.query(RENEW, [worker, slot, token, seconds, jobSeconds ?? null]);
  return rows.length > 0;
}
