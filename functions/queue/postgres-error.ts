import { MillraceError } from './errors.ts';
import type { QueueEvent } from './events.ts';

/**
 * What to do about a statement that failed:
 * - `row`: one of its values is at fault; the others are fine, so a batch is repeated row by row
 * - `repeat`: the server refused it whole and rolled it back (deadlock, lock, cancelled); the connection is good
 * - `lost`: nobody knows whether it was carried out, or the connection serves no more; repeat it on a new one
 * - `fatal`: repeating cannot mend it (no such table, no permission, wrong password)
 */
export type Fault = 'row' | 'repeat' | 'lost' | 'fatal';

/** By SQLSTATE class (Postgres manual, appendix A). Classes not named here are fatal. */
const FAULTS: Readonly<Record<string, Fault>> = {
  '22': 'row', // data exception: NUL in text, a number out of range, …
  '23': 'row', // integrity constraint
  '54': 'row', // program limit exceeded: nesting too deep, array too large
  '40': 'repeat', // deadlock, serialization failure
  '55': 'repeat', // lock not available, object in use
  '72': 'repeat', // snapshot too old
  '08': 'lost', // connection exception
  '53': 'lost', // too many connections, disk full, out of memory
  '57': 'lost', // shutdown, crash, starting up
  '58': 'lost', // system error: I/O on the server
  XX: 'lost', // internal error; also what poolers say when their server is gone
};

/** Exceptions to their class. */
const STATES: Readonly<Record<string, Fault>> = {
  '40003': 'lost', // statement completion unknown: proxies say so
  '57014': 'repeat', // statement cancelled
  '25006': 'lost', // read-only: the server became a standby, and the next connection finds the new primary
  '25P03': 'lost', // idle in transaction for too long: the server hangs up
  '25P04': 'lost', // transaction timeout: likewise
};

export function faultOf(error: unknown): Fault {
  const state = sqlState(error);
  if (state !== undefined) return STATES[state] ?? FAULTS[state.slice(0, 2)] ?? 'fatal';
  // Thrown by who connects, who has the wrong settings for it.
  if (error instanceof MillraceError && error.code === 'configuration') return 'fatal';
  // Thrown on this side while a value was put into words: nothing was sent.
  if (error instanceof TypeError || error instanceof RangeError) return 'row';
  return 'lost';
}

/**
 * The five characters of a Postgres error, undefined for anything else (EPIPE has five too, but no severity). What a
 * PgBouncer says under a code that stands for anything gets the code that Postgres has for it.
 */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error) || !('severity' in error)) return undefined;
  const { code } = error;
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return undefined;
  if (code !== PROTOCOL_VIOLATION || !('message' in error)) return code;
  return MEANT.find(([words]) => words.test(String(error.message)))?.[1] ?? code;
}

/** The only code that a PgBouncer older than 1.20 has, whatever it refuses (pgbouncer/pgbouncer#814, #778). */
const PROTOCOL_VIOLATION = '08P01';
/** Its own words, and those of a server that it could not log in to, as 1.18 passes them on. */
const MEANT: readonly (readonly [RegExp, string])[] = [
  [/\bauthentication failed\b|^no such user\b|^auth failed\b/i, '28P01'],
  [/^no such database\b|^database ".*" does not exist$/i, '3D000'],
  [/^no more connections allowed\b|^too many (connections|clients)\b|, too many clients already$/i, '53300'],
];

/** As the engine tells of it: SQLSTATE, else the error code of Node or of Millrace, else its class. */
export function failureEvent(during: string, error: unknown): QueueEvent & { name: 'database.failed' } {
  if (!(error instanceof Error)) return { name: 'database.failed', during, code: 'unknown', reason: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { name: 'database.failed', during, code, reason: error.message };
}
