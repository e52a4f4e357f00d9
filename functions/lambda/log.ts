import type { Log } from '../queue/context.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LEVELS)[number];
type Fields = Readonly<Record<string, unknown>>;

/**
 * A log of JSON lines on stdout: timestamp, level, message, then `bound` and the fields of the call.
 * The level is LOG_LEVEL's (default info). Of an error it shows name, code, message, stack and causes, never the rows and
 * values that Postgres puts into `detail` and `where`: payloads stay out of logs.
 * `write` takes a line. Default: to stdout.
 */
export function createLog(bound: Fields, write: (line: string) => void = toStdout): Log {
  // A wrong LOG_LEVEL must not keep a function from saying what else is wrong: it counts as info.
  const given = LEVELS.indexOf(process.env.LOG_LEVEL as Level);
  const least = given === -1 ? LEVELS.indexOf('info') : given;
  const line = (level: Level) => (message: string, fields?: Fields) => {
    if (LEVELS.indexOf(level) < least) return;
    const head = { timestamp: new Date().toISOString(), level, message };
    // Twice, so that the head stays first and no field takes its place.
    write(toJson({ ...head, ...bound, ...fields, ...head }));
  };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export function toStdout(line: string): void {
  process.stdout.write(`${line}\n`);
}

function toJson(entry: Fields): string {
  try {
    return JSON.stringify(entry, (_key, value) => {
      if (typeof value === 'bigint') return String(value);
      return value instanceof Error ? errorFields(value) : value;
    });
  } catch {
    const { timestamp, level, message } = entry;
    return JSON.stringify({ timestamp, level, message, note: 'its fields cannot be written as JSON' });
  }
}

function errorFields(error: Error): Fields {
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  return { name, code, message, stack, cause: cause instanceof Error ? errorFields(cause) : undefined, errors };
}
