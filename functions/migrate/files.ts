import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { MigrationFileError } from './errors.ts';

export interface Migration {
  /** The number its name begins with. */
  readonly version: number;
  /** `0001_jobs.sql` */
  readonly file: string;
  readonly sql: string;
  /** SHA-256 of the text in hex; line ends and a byte order mark do not count, since git and editors change them. */
  readonly checksum: string;
}

/** The runner's transaction is the only one: a COMMIT in a file would apply half a migration, without its lock. */
const TRANSACTION = /^\s*(BEGIN|START TRANSACTION|COMMIT|ROLLBACK|END TRANSACTION|ABORT)\b[^;\n]*;/im;
const NAME = /^(\d{4})_[a-z0-9_-]+\.sql$/;

/**
 * The migrations of a directory in their order: 1, 2, 3, … without a gap.
 * @throws MigrationFileError for a name that does not fit, a number that is missing or taken twice, transaction control, no file at all
 */
export async function readMigrations(directory: URL | string): Promise<Migration[]> {
  const base = typeof directory === 'string' ? pathToFileURL(`${directory}/`) : directory;
  const files = (await readdir(base)).filter((name) => name.endsWith('.sql')).sort();
  if (files.length === 0) throw new MigrationFileError(`There are no migrations in ${base.pathname}.`);
  return Promise.all(files.map((file, index) => read(base, file, index + 1)));
}

async function read(base: URL, file: string, expected: number): Promise<Migration> {
  const version = Number(NAME.exec(file)?.[1]);
  if (version !== expected) {
    throw new MigrationFileError(
      `${file} stands where migration ${String(expected).padStart(4, '0')} is expected. ` +
        'Names are 0001_what_it_does.sql (lower case), numbers follow one another, and each is given once.',
    );
  }
  const sql = (await readFile(new URL(file, base), 'utf8')).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  if (TRANSACTION.test(sql)) {
    throw new MigrationFileError(
      `${file} must not begin or end a transaction: the runner has one open for all of them.`,
    );
  }
  return { version, file, sql, checksum: createHash('sha256').update(sql).digest('hex') };
}
