import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Db } from '../queue/db.ts';
import { MigrationBlockedError, MigrationFailedError } from './errors.ts';
import { type Migration, readMigrations } from './files.ts';
import { pendingOf, readHistory, record } from './history.ts';

export interface MigrateOptions {
  readonly directory: URL | string;
  /** The last migration to apply. Default: the newest. */
  readonly to?: number | undefined;
  /** Seconds to go on trying while others hold locks that are needed. Default 120. */
  readonly patienceSeconds?: number;
  readonly onProgress?: (progress: MigrationProgress) => void;
}

export type MigrationProgress =
  | { readonly name: 'migration.applied'; readonly file: string; readonly durationMs: number }
  /** Rolled back: somebody held a lock. Tried again after the delay. */
  | { readonly name: 'migration.postponed'; readonly file: string; readonly delayMs: number };

export interface MigrateResult {
  /** Files, in order; empty if there was nothing to do. */
  readonly applied: string[];
  /** The newest that the database has now. */
  readonly version: number;
  /** The database has migrations that this code does not know. */
  readonly ahead: boolean;
}

/** A statement of a migration waits that long for a lock. Whoever comes after it on that table waits behind it. */
export const LOCK_TIMEOUT_MS = 2000;
/** One at a time; the lock lasts as long as the transaction. Its number is only ours. */
export const TURN = 'SELECT pg_advisory_xact_lock(7236834, 0)';
/** Names mean what they say whatever the role's search_path is; what a role's timeouts are for is not migrations. */
export const SETTINGS = `SET LOCAL search_path = ''; SET LOCAL statement_timeout = 0`;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** Lock not available, deadlock: another try may succeed. */
const HELD = new Set(['55P03', '40P01']);

/**
 * Brings the schema up to date: everything pending in one transaction, so that a deploy has all of it or nothing. Run twice
 * at once, one waits and finds nothing to do. Takes no session state, so it works through a transaction pooler.
 *
 * @param db one connection with no transaction open; of a pool, one is taken
 * @throws MigrationFailedError naming file and line, MigrationEditedError, MigrationBlockedError, MigrationFileError, and
 * MigrationTargetError for a `to` that lies behind
 */
export async function migrate(db: pg.Client | Db, options: MigrateOptions): Promise<MigrateResult> {
  const migrations = await readMigrations(options.directory);
  if (!isPool(db)) return await patiently(db, migrations, options);
  const client = await db.connect();
  try {
    return await patiently(client, migrations, options);
  } finally {
    client.release();
  }
}

async function patiently(db: Db, migrations: Migration[], options: MigrateOptions): Promise<MigrateResult> {
  const { patienceSeconds = 120, onProgress = () => {} } = options;
  const deadline = performance.now() + patienceSeconds * 1000;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      return await once(db, migrations, options);
    } catch (error) {
      const { file, cause } = error as MigrationFailedError;
      if (!(error instanceof MigrationFailedError) || !HELD.has((cause as { code?: string }).code ?? '')) throw error;
      if (performance.now() + delayMs > deadline) throw new MigrationBlockedError(file, patienceSeconds, { cause });
      // Half of it by chance: what blocked us may come at regular times.
      const jitteredMs = Math.round(delayMs * (0.5 + Math.random() / 2));
      onProgress({ name: 'migration.postponed', file, delayMs: jitteredMs });
      await sleep(jitteredMs);
    }
  }
}

async function once(db: Db, migrations: Migration[], options: MigrateOptions): Promise<MigrateResult> {
  const { patienceSeconds = 120, onProgress = () => {} } = options;
  await db.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    await waitForTurn(db, patienceSeconds);
    const { pending, version, ahead } = pendingOf(migrations, await readHistory(db), options.to);
    for (const migration of pending) {
      const began = performance.now();
      await apply(db, migration);
      onProgress({
        name: 'migration.applied',
        file: migration.file,
        durationMs: Math.round(performance.now() - began),
      });
    }
    await db.query('COMMIT');
    return { applied: pending.map(({ file }) => file), version, ahead };
  } catch (error) {
    // On a broken connection there is nothing to roll back, and the error to tell is the first.
    await db.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function waitForTurn(db: Db, patienceSeconds: number): Promise<void> {
  await db.query(SETTINGS);
  await db.query(`SET LOCAL lock_timeout = ${Math.max(1, Math.round(patienceSeconds * 1000))}`);
  try {
    await db.query(TURN);
  } catch (cause) {
    if (!HELD.has((cause as { code?: string }).code ?? '')) throw cause;
    throw new MigrationBlockedError('Another migration is running: this one', patienceSeconds, { cause });
  }
  await db.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
}

async function apply(db: Db, migration: Migration): Promise<void> {
  try {
    await db.query(migration.sql);
    await record(db, migration);
  } catch (cause) {
    throw new MigrationFailedError(migration, cause);
  }
}

function isPool(db: object): db is pg.Pool {
  return 'totalCount' in db;
}
