import type { Db } from './db.ts';
import type { Sight, Slot } from './see-start.ts';

// Only from whom it was seen, and as it was seen: of two that have seen the same, one takes it. A holder that was gone may be back.
const TAKE = `
INSERT INTO millrace.slots AS s (worker, slot, token, started_at, present_until)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (worker, slot) DO UPDATE
SET token = excluded.token, started_at = excluded.started_at, present_until = excluded.present_until
WHERE s.token = $3
  OR (s.token = $5 AND ($6 OR s.present_until <= clock_timestamp() OR s.present_until > excluded.present_until))
RETURNING true`;

/**
 * Makes the run of this token the holder. Resolves false if somebody else was quicker. It can be
 * repeated. `seconds`: for how long others are to believe that it claims.
 */
export async function takeSlot(
  db: Db,
  { worker, slot }: Slot,
  token: string,
  seconds: number,
  { token: seenToken, holder }: Pick<Sight, 'token' | 'holder'>,
): Promise<boolean> {
  const taken = await db.query(TAKE, [worker, slot, token, seconds, seenToken, holder !== undefined]);
  return taken.rows.length > 0;
}
