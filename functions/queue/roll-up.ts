import type { Db } from './db.ts';

/** Rows a statement takes. A minute at 2,000 jobs/s in batches leaves some thousands. */
const BATCH = 10_000;
const MAX_BATCHES = 50;

// SKIP LOCKED: two at once take different rows. Counters are locked in the order of their key: no deadlock.
const ROLL_UP = `
WITH taken AS (
  DELETE FROM millrace.counter_deltas
  WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM millrace.counter_deltas
    LIMIT $1
    FOR UPDATE SKIP LOCKED))
  RETURNING kind, event, n
), sums AS (
  SELECT kind, event, sum(n) AS n
  FROM taken
  GROUP BY kind, event
  ORDER BY kind, event
), added AS (
  INSERT INTO millrace.counters (kind, event, total)
  SELECT kind, event, n
  FROM sums
  ON CONFLICT (kind, event) DO UPDATE
  SET total = counters.total + excluded.total
)
SELECT count(*)::int AS n
FROM taken`;

/**
 * Adds the counter deltas to the counters. A read that sums both tables in one statement sees the same total before,
 * during and after. Resolves the number of deltas taken, at most half a million a call.
 */
export async function rollUp(db: Db): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { rows } = await db.query<{ n: number }>(ROLL_UP, [BATCH]);
    const taken = rows[0]?.n ?? 0;
    total += taken;
    if (taken < BATCH) break;
  }
  return total;
}
