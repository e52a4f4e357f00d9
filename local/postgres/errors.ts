/** Why the embedded Postgres did not start. `message` says what to do; `code` is for programs. */
export class PostgresStartError extends Error {
  readonly code: PostgresStartCode;
  constructor(code: PostgresStartCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PostgresStartError';
    this.code = code;
  }
}

export type PostgresStartCode =
  /** Another process runs Postgres on this directory. */
  | 'in_use'
  /** The directory holds data of another Postgres major. */
  | 'other_major'
  /** What is in the directory is no (whole) Postgres data. */
  | 'damaged'
  /** The given port is taken. */
  | 'port_taken'
  | 'disk_full'
  /** The directory cannot be read or written by the user that Postgres runs as. */
  | 'not_writable'
  /** No binaries for this platform, or they do not run here. */
  | 'no_binaries'
  /** Running as root, and no other user to run Postgres as. */
  | 'no_account'
  /** It did not come up in time. */
  | 'timeout'
  /** Anything else; the message ends with what Postgres said. */
  | 'failed';

const INSTEAD = 'or set DATABASE_URL to a Postgres of your own';

/** A sentence for what Postgres, initdb or the file system said. */
export function explain(directory: string, said: string, cause?: unknown): PostgresStartError {
  const options = cause === undefined ? {} : { cause };
  if (/No space left on device|ENOSPC|Disk quota exceeded|EDQUOT/.test(said)) {
    return new PostgresStartError(
      'disk_full',
      `There is no space left for Postgres in ${directory} (a new one takes 50 MB). Free some, ${INSTEAD}.`,
      options,
    );
  }
  if (/Read-only file system|EROFS|Permission denied|EACCES|EPERM|Operation not permitted/.test(said)) {
    return new PostgresStartError(
      'not_writable',
      `Postgres cannot write to ${directory}: ${lastLine(said)}. Make it writable, choose another directory, ${INSTEAD}.`,
      options,
    );
  }
  if (/could not bind|Address already in use/.test(said)) {
    return new PostgresStartError(
      'port_taken',
      `The port for Postgres is taken: ${lastLine(said)}. Give another one or none, then a free one is found.`,
      options,
    );
  }
  if (
    /could not locate a valid checkpoint record|invalid checkpoint record|pg_control|PANIC|not a valid data directory|missing or invalid|could not open file "(base|global|pg_\w+)\//.test(
      said,
    )
  ) {
    return new PostgresStartError(
      'damaged',
      `The data in ${directory} is damaged: ${lastLine(said)}. Restore it, or move the folder away to begin with an empty one, ${INSTEAD}.`,
      options,
    );
  }
  return new PostgresStartError(
    'failed',
    `Postgres did not start in ${directory}; see postgres.log there, ${INSTEAD}. It said: ${said.trim().slice(-2000) || 'nothing'}`,
    options,
  );
}

/** The line that names the trouble: the last FATAL or error, without its time stamp. */
function lastLine(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.findLast((line) => /FATAL|PANIC|error:|ERROR/.test(line)) ?? lines.at(-1) ?? '';
  return telling.replace(/^.*?(FATAL|PANIC|ERROR|error):\s*/, '').trim();
}
