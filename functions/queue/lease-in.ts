import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import type { Slice } from './time-slices.ts';

const LEASE_IN = `
SELECT to_char(l.locked_until AT TIME ZONE 'UTC', ${ISO}) AS until
FROM millrace.live_jobs l
WHERE l.status = 'processing' AND l.locked_until >= $1::timestamptz AND l.locked_until < $2::timestamptz
ORDER BY l.locked_until
LIMIT 1`;

/** When the first lease of a span of time ends: ISO 8601 in UTC with microseconds. Undefined: none of a running job ends in it. */
export async function leaseIn(db: Db, { from, until }: Slice): Promise<string | undefined> {
  const { rows } = await db.query<{ until: string }>(LEASE_IN, [from, until]);
  return rows[0]?.until;
}
