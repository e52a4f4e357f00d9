import { MillraceError } from '../queue/errors.ts';
import type { Migration } from './files.ts';

/** The files are not what the runner expects. Nothing was applied. */
export class MigrationFileError extends MillraceError {
  static override readonly name: string = 'MigrationFileError';
  readonly code = 'migration_files';
}

/** A file that this database has already applied says something else now. Nothing was applied. */
export class MigrationEditedError extends MillraceError {
  static override readonly name: string = 'MigrationEditedError';
  readonly code = 'migration_edited';
  readonly file: string;
  constructor(file: string, appliedFile: string, appliedAt: string) {
    super(
      `${file} was changed after it was applied to this database (as ${appliedFile}, ${appliedAt}): ` +
        'put it back as it was, and write the change as a new migration.',
    );
    this.file = file;
  }
}

/** The version that was asked for cannot be gone to from where the database is. Nothing was applied. */
export class MigrationTargetError extends MillraceError {
  static override readonly name: string = 'MigrationTargetError';
  readonly code = 'migration_target';
}

/** A migration failed. All of this run was rolled back: the schema is as it was before. */
export class MigrationFailedError extends MillraceError {
  static override readonly name: string = 'MigrationFailedError';
  readonly code = 'migration_failed';
  readonly file: string;
  /** 1-based, if Postgres said where. */
  readonly line: number | undefined;
  constructor({ file, sql }: Migration, cause: unknown) {
    const { message, code, position, where, detail } = cause as DatabaseError;
    const place = position === undefined ? undefined : placeOf(sql, Number(position));
    const at = place === undefined ? '' : `, line ${place.line}, column ${place.column}`;
    const more = [detail, place === undefined ? where : undefined].filter((part) => part !== undefined && part !== '');
    super(
      `${file}${at}: ${[message, ...more].join('; ')}${code === undefined ? '' : ` (${code})`}. ` +
        'Nothing was applied; correct the file and run it again.',
      { cause },
    );
    this.file = file;
    this.line = place?.line;
  }
}

/** A lock that a migration needs was held by somebody else in every try. Nothing was applied. */
export class MigrationBlockedError extends MillraceError {
  static override readonly name: string = 'MigrationBlockedError';
  readonly code = 'migration_blocked';
  constructor(what: string, seconds: number, options?: ErrorOptions) {
    super(
      `${what} could not get a lock within ${seconds} s. Look for old transactions (SELECT pid, state, xact_start, query ` +
        'FROM pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY xact_start), end them and run it again.',
      options,
    );
  }
}

interface DatabaseError {
  readonly message: string;
  readonly code?: string;
  /** Counts characters of the statement from 1. */
  readonly position?: string;
  readonly where?: string;
  readonly detail?: string;
}

function placeOf(sql: string, position: number): { line: number; column: number } {
  // Postgres counts code points, a string index does not.
  const before = [...sql].slice(0, position - 1).join('');
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
}
