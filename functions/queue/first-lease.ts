import type { Db } from './db.ts';
import { ISO } from './iso.ts';

/** Seconds for which a claim or a settle that sets a lease may take until it is committed. A statement has ten. */
const LEASE_COMMIT_SECONDS = 15;

const FIRST = `
WITH first AS (
  SELECT l.locked_until
  FROM millrace.live_jobs l
  WHERE l.status = 'processing' AND l.locked_until <= now()
    AND l.locked_until >= CASE WHEN $1::timestamptz <= now() THEN $1::timestamptz ELSE '-infinity' END
  ORDER BY l.locked_until
  LIMIT 1
),
mark AS (
  SELECT coalesce((SELECT f.locked_until FROM first f), now()) - make_interval(secs => $2) AS at
)
SELECT to_char(m.at AT TIME ZONE 'UTC', ${ISO}) AS mark
FROM mark m`;

/**
 * Where the leases begin that may have run out: for `after` of the next reap. Every lease that ends before is over, since one is
 * set ahead of the database's clock; what somebody holds, and what could not be reaped, lies behind it. It keeps the reaper from
 * all that ended long ago and that vacuum cannot clear away (a pinned horizon): 1.1 s a look after three million jobs, measured.
 * `after`: where the last such look began.
 */
export async function firstLease(db: Db, after?: string): Promise<string> {
  const { rows } = await db.query<{ mark: string }>(FIRST, [after ?? null, LEASE_COMMIT_SECONDS]);
  return (rows[0] as { mark: string }).mark;
}
