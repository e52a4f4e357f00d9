import type { Db } from './db.ts';

const PRUNE_MARKS = `
WITH pruned AS (
  DELETE FROM millrace.claim_marks
  WHERE rescanned_at < least(now() - interval '1 day', (SELECT max(m.rescanned_at) FROM millrace.claim_marks m))
  RETURNING queue
)
SELECT count(*)::int AS n
FROM pruned`;

/**
 * Deletes the marks of queues and sets of kinds that no worker has claimed from for a day: each deploy that adds a kind leaves one
 * behind. The newest stay, since they tell when a worker was last seen. One that comes back begins at the beginning, as it would
 * have anyway. Resolves how many went.
 */
export async function pruneMarks(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>(PRUNE_MARKS);
  return rows[0]?.n ?? 0;
}
