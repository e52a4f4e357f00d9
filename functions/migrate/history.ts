import type { Db } from '../queue/db.ts';
import { MigrationEditedError, MigrationFileError, MigrationTargetError } from './errors.ts';
import type { Migration } from './files.ts';

const FIND = `
  SELECT to_regnamespace('millrace') IS NOT NULL AS schema,
         to_regclass('millrace.migrations') IS NOT NULL AS history`;

// What has been applied must be written somewhere before the first migration is. IF NOT EXISTS would ask for the right to
// create schemas even where somebody with that right has made this one.
export const CREATE_SCHEMA = 'CREATE SCHEMA millrace';
export const CREATE_HISTORY = `
  CREATE TABLE millrace.migrations (
    version int PRIMARY KEY,
    file text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`;

const READ = `
  SELECT version, file, checksum, to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS applied_at
  FROM millrace.migrations
  ORDER BY version`;

const RECORD = `
  INSERT INTO millrace.migrations (version, file, checksum)
  VALUES ($1, $2, $3)`;

export interface Applied {
  readonly version: number;
  readonly file: string;
  readonly checksum: string;
  /** ISO 8601, UTC. */
  readonly applied_at: string;
}

/** What this database has applied, in order; makes the table for it. Within the runner's transaction. */
export async function readHistory(db: Db): Promise<Applied[]> {
  const { rows } = await db.query<{ schema: boolean; history: boolean }>(FIND);
  if (rows[0]?.schema !== true) await db.query(CREATE_SCHEMA);
  if (rows[0]?.history !== true) await db.query(CREATE_HISTORY);
  return (await db.query<Applied>(READ)).rows;
}

/** The same without making anything: a database that was never migrated has applied nothing. */
export async function lookAtHistory(db: Db): Promise<Applied[]> {
  const { rows } = await db.query<{ history: boolean }>(FIND);
  return rows[0]?.history === true ? (await db.query<Applied>(READ)).rows : [];
}

export async function record(db: Db, { version, file, checksum }: Migration): Promise<void> {
  await db.query(RECORD, [version, file, checksum]);
}

/**
 * Which migrations are to be applied. A database that has more than the code is fine: a rollback of a deploy runs the
 * older code on it.
 * @param to the last of them. Default: the newest
 * @throws MigrationEditedError, MigrationTargetError for a `to` that lies behind or is not there, or MigrationFileError if
 * one that was applied lies between ours and is missing
 */
export function pendingOf(
  migrations: readonly Migration[],
  history: readonly Applied[],
  to?: number,
): { pending: Migration[]; version: number; ahead: boolean } {
  for (const applied of history) {
    const ours = migrations[applied.version - 1];
    if (ours !== undefined && ours.checksum !== applied.checksum) {
      throw new MigrationEditedError(ours.file, applied.file, applied.applied_at);
    }
  }
  const newest = history.at(-1)?.version ?? 0;
  if (newest !== history.length) {
    throw new MigrationFileError(
      `millrace.migrations has ${history.length} rows and a newest version of ${newest}: some were removed by hand. ` +
        'Put them back before anything else is applied.',
    );
  }
  const target = targetOf(migrations.length, newest, to);
  const pending = migrations.slice(newest, target);
  return { pending, version: Math.max(newest, target), ahead: newest > migrations.length };
}

function targetOf(known: number, newest: number, to: number | undefined): number {
  if (to === undefined) return known;
  if (to < newest) {
    throw new MigrationTargetError(
      `The database is at version ${newest}, and ${to} was asked for: migrations move forward only. Older code works on a ` +
        'newer schema, so none need go back.',
    );
  }
  if (to > known && to > newest) {
    throw new MigrationTargetError(
      `${to} was asked for, and the newest migration here is ${known}: update Millrace first.`,
    );
  }
  return to;
}
