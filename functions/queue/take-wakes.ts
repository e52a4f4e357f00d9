import type { Db } from './db.ts';

const TAKE_WAKES = `
SELECT worker
FROM millrace.take_wakes($1) AS woken(worker)`;

/**
 * Which of these workers are to be started for a job that was committed: those that nobody claims for now, and that nobody was
 * told to start in the last two seconds. Who asks next is told otherwise, so each must be started. To be called after the
 * commit, outside a transaction: docs/decisions/0021 has why a job that it answers nobody for is found all the same.
 */
export async function takeWakes(db: Db, workers: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ worker: string }>(TAKE_WAKES, [workers]);
  return rows.map(({ worker }) => worker);
}
