import { ConfigurationError } from '../functions/lambda/configuration-error.ts';
import { IdempotencyKeyReusedError, UnstorableError } from '../functions/queue/errors.ts';
import { faultOf, sqlState } from '../functions/queue/postgres-error.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { Doing } from './doing.ts';

/** Database roles that may, see docs/roles.md. */
const ROLE: Readonly<Record<Doing, string>> = {
  see: 'millrace_producer, millrace_reader or millrace_operator',
  read: 'millrace_reader or millrace_operator',
  enqueue: 'millrace_producer',
  act: 'millrace_operator',
};

/** No such schema, table, function or column. */
const MISSING = ['3F000', '42P01', '42883', '42703'];

/** Whether it, or what caused it, says that the migrations have not run, or not all of them. */
export function isSchemaMissing(error: unknown): boolean {
  return MISSING.includes(sqlState(error) ?? '') || (error instanceof Error && isSchemaMissing(error.cause));
}

/** What Postgres or the way to it said, for the person at the terminal. What is neither comes as it is. */
export function sqlFailure(error: unknown, doing: Doing, where: string): unknown {
  if (error instanceof CliError) return error;
  const said = reasonOf(error);
  const unreachable = (message: string, code = 'unreachable') =>
    new CliError(`${where}: ${message}`, EXIT.unreachable, { code, cause: error });
  if (error instanceof ConfigurationError) return new CliError(error.message, EXIT.usage, { cause: error });
  if (error instanceof UnstorableError) return failed(`The payload: ${error.message}`, 'unstorable-value', error);
  if (error instanceof IdempotencyKeyReusedError)
    return failed(`The ${error.message}.`, 'idempotency-key-reused', error);
  const state = sqlState(error);
  if (state === undefined) return faultOf(error) === 'lost' ? unreachable(`${said}. ${remedyOf(error)}`) : error;
  if (isSchemaMissing(error)) {
    return unreachable('there is no schema millrace, or an old one: run npx millrace migrate.', 'schema-outdated');
  }
  if (state === '42501') {
    return unreachable(`this login may not (${said}): it takes ${ROLE[doing]}, see docs/roles.md.`, 'forbidden');
  }
  if (state === '3D000') return unreachable(`${said}: look at the end of DATABASE_URL.`);
  if (state.startsWith('28')) return unreachable(`${said}: look at user and password of DATABASE_URL.`, 'unauthorized');
  if (state === '53300') return unreachable(`${said}: it has no connection left, try again shortly.`);
  if (state === '57014')
    return unreachable(`${said}: the login's statement_timeout is too short for this.`, 'timed-out');
  if (state === '55P03' || state === '40P01') {
    return failed('An open transaction holds the job or one of its keys; try again shortly.', 'key-in-use', error);
  }
  if (state.startsWith('22') || state.startsWith('23'))
    return failed(`The database refuses it: ${said}.`, 'invalid-job', error);
  return unreachable(said);
}

function failed(message: string, code: string, cause: unknown): CliError {
  return new CliError(message, EXIT.failed, { code, cause });
}

/** The innermost cause: "the database does not answer" alone helps nobody. */
function reasonOf(error: unknown): string {
  const { cause, message, code } = error as { cause?: unknown; message?: string; code?: string };
  return cause === undefined ? message || code || String(error) : reasonOf(cause);
}

const REMEDY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there: is Postgres up, and is DATABASE_URL right?',
  ENOTFOUND: 'There is no such host: look at DATABASE_URL.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'DATABASE_CA_FILE=<file.pem> names the authority that signed it.',
  SELF_SIGNED_CERT_IN_CHAIN:
    'DATABASE_CA_FILE=<file.pem> names the authority that signed it; of RDS it is in the bundle that AWS publishes.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'DATABASE_CA_FILE=<file.pem> names the authority that signed it.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'DATABASE_CA_FILE=<file.pem> names the authority that signed it.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Its certificate is of another name: connect by the name that it was made for.',
};

function remedyOf(cause: unknown): string {
  const { code } = (cause ?? {}) as { code?: string };
  return REMEDY[code ?? ''] ?? 'Is it up, and may this machine reach it?';
}
