import { sqlState } from './postgres-error.ts';

/** `lock_timeout` of a statement: how long it waits for somebody's open transaction. */
export type Patience = '100ms' | '50ms' | '1ms';

/** Where so many are blocked, it is the same transaction that holds the others, and has been waited for. */
const MANY = 10;

/** How often a row is tried alone that met a twin: each time another transaction has just committed. */
const TRIES = 3;

/**
 * Writes all rows in one statement; if somebody's open transaction stands in the way, one by one, so that it costs the
 * others nothing but a tenth of a second. It may hold a row (`millrace.cancel` in a long transaction), or the unique key by a
 * twin that is not committed yet. Whoever waits holds locks too, so the wait is far below `deadlock_timeout`: two workers that
 * want the same keys in opposite orders both step back, and nobody else is ever chosen as a deadlock's victim.
 *
 * @param write never holds a lock when it rejects: each call is a transaction of its own
 * @param blocked what becomes of a row that cannot be written now
 */
export async function aroundBlocked<Row, Done>(
  rows: readonly Row[],
  write: (rows: readonly Row[], patience: Patience) => Promise<Done[]>,
  blocked: (row: Row) => Done[] | Promise<Done[]>,
): Promise<Done[]> {
  try {
    return await write(rows, '100ms');
  } catch (error) {
    if (!isBlocked(error) && !metTwin(error)) throw error;
  }
  return oneByOne(rows, (row, patience) => write([row], patience), blocked);
}

/** The rows of a statement that something stood in the way of. */
export async function oneByOne<Row, Done>(
  rows: readonly Row[],
  write: (row: Row, patience: Patience) => Promise<Done[]>,
  blocked: (row: Row) => Done[] | Promise<Done[]>,
): Promise<Done[]> {
  const done: Done[] = [];
  let stuck = 0;
  for (const row of rows) {
    const written = await alone(() => write(row, stuck < MANY ? '50ms' : '1ms'));
    if (written === undefined) stuck++;
    done.push(...(written ?? (await blocked(row))));
  }
  return done;
}

async function alone<Done>(write: () => Promise<Done[]>): Promise<Done[] | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return await write();
    } catch (error) {
      if (isBlocked(error)) return undefined;
      if (!metTwin(error)) throw error;
    }
  }
  return undefined;
}

/** lock_not_available, and deadlock_detected for a server whose `deadlock_timeout` is as short. */
export function isBlocked(error: unknown): boolean {
  return ['55P03', '40P01'].includes(sqlState(error) ?? '');
}

/** A pending job with this kind and unique key has committed since the statement began: the next one sees it. */
export function metTwin(error: unknown): boolean {
  return sqlState(error) === '23505' && (error as { constraint?: string }).constraint === 'live_jobs_unique';
}
