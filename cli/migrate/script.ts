import type { Migration } from '../../functions/migrate/files.ts';
import { CREATE_HISTORY, CREATE_SCHEMA } from '../../functions/migrate/history.ts';
import { LOCK_TIMEOUT_MS, SETTINGS, TURN } from '../../functions/migrate/runner.ts';

/** How long the script waits for another migration that runs. */
const PATIENCE = '120s';

/**
 * The migrations as a file that psql, or any other client, can run by hand: what the runner does, in one transaction, with
 * what was applied written down as the runner does. A database that is not where the first of them begins refuses it whole.
 */
export function scriptOf(pending: readonly Migration[]): string {
  const [first] = pending;
  if (first === undefined) return '-- Nothing is pending.\n';
  const last = pending.at(-1) as Migration;
  const range = first === last ? first.file : `${first.file} to ${last.file}`;
  return [
    `-- Millrace, ${range}: all of it or nothing, in one transaction.`,
    '-- Run it as the owner of the schema millrace, or as a role that may create it: psql -v ON_ERROR_STOP=1 -f <this file>',
    'BEGIN ISOLATION LEVEL READ COMMITTED;',
    `${SETTINGS};`,
    `SET LOCAL lock_timeout = '${PATIENCE}';`,
    `${TURN};`,
    `SET LOCAL lock_timeout = '${LOCK_TIMEOUT_MS}ms';`,
    ...(first.version === 1 ? [MAKE_HISTORY] : []),
    expecting(first.version - 1),
    ...pending.map(textOf),
    'COMMIT;',
    '',
  ].join('\n');
}

// As readHistory does: somebody may have made the schema, or the table of a run that applied nothing.
const MAKE_HISTORY = `DO $make$ BEGIN
  IF to_regnamespace('millrace') IS NULL THEN ${CREATE_SCHEMA}; END IF;
  IF to_regclass('millrace.migrations') IS NULL THEN ${CREATE_HISTORY}; END IF;
END $make$;`;

function expecting(version: number): string {
  return `DO $check$ BEGIN
  IF (SELECT coalesce(max(m.version), 0) FROM millrace.migrations m) <> ${version} THEN
    RAISE EXCEPTION 'This script begins after migration ${version}, and the database is at %: print it anew with DATABASE_URL set.',
      (SELECT coalesce(max(m.version), 0) FROM millrace.migrations m);
  END IF;
END $check$;`;
}

// The name is one of readMigrations, and the checksum is hexadecimal: neither has a quote.
function textOf({ version, file, sql, checksum }: Migration): string {
  const text = sql.trimEnd();
  return `
-- ${file}
${text}${text.endsWith(';') ? '' : '\n;'}
INSERT INTO millrace.migrations (version, file, checksum)
VALUES (${version}, '${file}', '${checksum}');`;
}
