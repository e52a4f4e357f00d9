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

export function inUse(directory: string, pid: number): PostgresStartError {
  return new PostgresStartError(
    'in_use',
    `Process ${pid} already runs Postgres in ${directory}. Stop it (Ctrl-C in its terminal, or kill ${pid}), ` +
      'or give this one another directory or a DATABASE_URL.',
  );
}

/** A sentence for what Postgres, initdb or the file system said. */
export function explain(directory: string, said: string, cause?: unknown): PostgresStartError {
  const [code, sentence] = KNOWN.find(([pattern]) => pattern.test(said))?.[1](directory, said) ?? [
    'failed',
    `Postgres did not start in ${directory}; see postgres.log there, ${INSTEAD}. It said: ${said.trim().slice(-2000) || 'nothing'}`,
  ];
  return new PostgresStartError(code, sentence, { cause });
}

/** The first that matches counts: a full disk also leaves files that cannot be opened. */
const KNOWN: readonly (readonly [RegExp, (directory: string, said: string) => [PostgresStartCode, string]])[] = [
  [
    /No space left on device|ENOSPC|Disk quota exceeded|EDQUOT/,
    (directory) => [
      'disk_full',
      `There is no space left for Postgres in ${directory} (a new one takes 50 MB). Free some, ${INSTEAD}.`,
    ],
  ],
  [
    /Read-only file system|EROFS|[Pp]ermission denied|EACCES|EPERM|Operation not permitted|ENOTDIR|wrong ownership|invalid permissions/,
    (directory, said) => [
      'not_writable',
      `Postgres cannot write to ${directory}: ${lastLine(said)}. Make it writable, choose another directory, ${INSTEAD}.`,
    ],
  ],
  [
    /could not bind|Address already in use/,
    (_, said) => [
      'port_taken',
      `Port ${/port (\d+)/.exec(said)?.[1]} on 127.0.0.1, wanted for Postgres, is taken. Give another one or none, then a free one is found.`,
    ],
  ],
  [
    /PG_VERSION|pg_control|checkpoint record|PANIC|WAL directory|could not (open|load|read|stat|access) /,
    (directory, said) => [
      'damaged',
      `The data in ${directory} is damaged: ${lastLine(said)}. Restore it, or move the folder away to begin with an empty one, ${INSTEAD}.`,
    ],
  ],
];

/** The line that names the trouble: the last FATAL or error, without its time stamp. */
function lastLine(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.findLast((line) => /FATAL|PANIC|error:|ERROR/.test(line)) ?? lines.at(-1) ?? '';
  return telling.replace(/^.*?(FATAL|PANIC|ERROR|error):\s*|^but /, '').trim();
}
