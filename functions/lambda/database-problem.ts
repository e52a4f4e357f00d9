import { faultOf, sqlState } from '../queue/postgres-error.ts';
import { DatabaseUnavailableError } from './database.ts';
import { ProblemError } from './problems.ts';

/** No such schema, table, function or column: the migrations have not run, or not all of them. */
const MISSING = ['3F000', '42P01', '42883', '42703'];

/** The answer to what a database threw; undefined if it was not the database, or is a mistake of ours. */
export function databaseProblem(error: unknown): ProblemError | undefined {
  if (error instanceof DatabaseUnavailableError) {
    if (error.cause === undefined) return unavailable('Too many wait for its connection; try again shortly.', error);
    // A server that hangs carries out what it has got once it goes on, whether anybody still waits or not.
    return unavailable('It does not answer, and may still do what was asked for; try again shortly.', error);
  }
  const state = sqlState(error);
  if (state === undefined) return undefined;
  if (MISSING.includes(state)) {
    return new ProblemError('schema-outdated', 'The migrations have to run before anything works.', { cause: error });
  }
  if (isTooLong(error)) {
    const detail =
      'The payload has more than 4 MiB as Postgres writes it: a number such as 1e308 with all its digits, what is sealed with a third more. Send less.';
    return new ProblemError('too-large', detail, { cause: error });
  }
  if (state.startsWith('28')) return unavailable('It refuses our credentials.', error);
  // A restore under way, or a setting that names another one.
  if (state === '3D000') return unavailable('The server is there, but has no database of the configured name.', error);
  if (state.startsWith('53')) return unavailable('It has no connection or memory left; try again shortly.', error);
  switch (faultOf(error)) {
    case 'row':
      // Our own checks should have said it, with a pointer; that they did not is no reason to blame the server.
      return new ProblemError('unstorable-value', 'Postgres cannot store one of the values.', { cause: error });
    case 'lost':
    case 'repeat':
      return unavailable('It is restarting, overloaded or was too slow; try again shortly.', error);
    case 'fatal':
      return undefined;
  }
}

/** The bound of migrations/0001 on a payload, which SQL and HTTP share. */
function isTooLong(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'live_jobs_payload_bytes_check';
}

function unavailable(detail: string, cause: unknown): ProblemError {
  return new ProblemError('database-unavailable', detail, { cause });
}
