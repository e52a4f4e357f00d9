import type { Db } from '../queue/db.ts';
import { MigrationEditedError, MigrationFileError } from './errors.ts';
import type { Migration } from './files.ts';

const FIND = `
  SELECT to_regnamespace('millrace') IS NOT NULL AS schema,
         to_regclass('millrace.migrations') IS NOT NULL AS history`;

// What has been applied must be written somewhere before the first migration is. IF NOT EXISTS would ask for the right to
// create schemas even where somebody with that right has made this one.
const CREATE_SCHEMA = 'CREATE SCHEMA millrace';
const CREATE_HISTORY = `
  CREATE TABLE millrace.migrations (
    version int PRIMARY KEY,
    file text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`;

const READ = `
  SELECT version, file, checksum, applied_at::text
  FROM millrace.migrations
  ORDER BY version`;

const RECORD = `
  INSERT INTO millrace.migrations (version, file, checksum)
  VALUES ($1, $2, $3)`;

interface Applied {
  readonly version: number;
  readonly file: string;
  readonly checksum: string;
  readonly applied_at: string;
}

/** What this database has applied, in order; makes the table for it. Within the runner's transaction. */
export async function readHistory(db: Db): Promise<Applied[]> {
  const { rows } = await db.query<{ schema: boolean; history: boolean }>(FIND);
  if (rows[0]?.schema !== true) await db.query(CREATE_SCHEMA);
  if (rows[0]?.history !== true) await db.query(CREATE_HISTORY);
  return (await db.query<Applied>(READ)).rows;
}

export async function record(db: Db, { version, file, checksum }: Migration): Promise<void> {
  await db.query(RECORD, [version, file, checksum]);
}

/**
 * Which migrations are to be applied. A database that has more than the code is fine: a rollback of a deploy runs the
 * older code on it.
 * @throws MigrationEditedError, or MigrationFileError if one that was applied lies between ours and is missing
 */
export function pendingOf(
  migrations: readonly Migration[],
  history: readonly Applied[],
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
  const pending = migrations.slice(newest);
  return { pending, version: Math.max(newest, migrations.length), ahead: newest > migrations.length };
}
