import { setTimeout as sleep } from 'node:timers/promises';
import { reconnectDelay } from './backoff.ts';
import type { Db } from './db.ts';
import type { Claim } from './job.ts';
import { faultOf, sqlState } from './postgres-error.ts';

/**
 * What became of a transaction that ends with the job's completion:
 * `unknown` if the database could not be asked in time; the row itself knows, and its lease settles the rest.
 */
export type Fate = 'committed' | 'rolled back' | 'unknown';

const HELD = `
SELECT 1
FROM millrace.live_jobs
WHERE id = $1 AND locked_by = $2
FOR UPDATE NOWAIT`;

const COMPLETED = `
SELECT 1
FROM millrace.finished_jobs
WHERE id = $1 AND locked_by = $2`;

/**
 * Commits the transaction that is open on `tx`, and if the answer is lost finds out over `db` (another connection) what
 * became of it. `patience` aborts when asking has to end. An error that the server itself answered is a rollback.
 */
export async function commit(
  tx: Db,
  db: Db,
  claim: Claim,
  patience: AbortSignal,
): Promise<{ fate: Fate; error?: unknown }> {
  try {
    const { command } = await tx.query('COMMIT');
    // A transaction in error answers COMMIT with ROLLBACK, without an error.
    if (command === 'COMMIT') return { fate: 'committed' };
    return { fate: 'rolled back', error: new Error(`COMMIT was answered with ${command}: a statement had failed`) };
  } catch (error) {
    if (faultOf(error) !== 'lost') return { fate: 'rolled back', error };
    return { fate: await fateOf(db, claim, patience), error };
  }
}

/**
 * The open transaction has deleted the live row, so its lock lasts until it is decided: while NOWAIT is refused nothing
 * is known; once the row can be locked under our token the transaction was rolled back and cannot come back.
 */
async function fateOf(db: Db, { id, token }: Claim, patience: AbortSignal): Promise<Fate> {
  for (let failures = 1; !patience.aborted; failures++) {
    try {
      if ((await db.query(HELD, [id, token])).rowCount) return 'rolled back';
      // Not ours any more: completed by that very transaction, or by nobody and reaped since.
      return (await db.query(COMPLETED, [id, token])).rowCount ? 'committed' : 'rolled back';
    } catch (error) {
      if (faultOf(error) === 'fatal') return 'unknown';
      await sleep(reconnectDelay(sqlState(error) === LOCKED ? 1 : failures), undefined, { signal: patience }).catch(
        () => {},
      );
    }
  }
  return 'unknown';
}

/** lock_not_available: the transaction is still undecided. */
const LOCKED = '55P03';
