import { isLoopback } from '../functions/lambda/tls.ts';
import { MillraceError } from '../functions/queue/errors.ts';
import { StartError } from './start-error.ts';

const CERTIFICATE = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_CERT|CERT_)/;

/** A sentence for what keeps a given Postgres from being used, and what to do. The password never appears. */
export function databaseError(cause: unknown, url: string): StartError {
  if (cause instanceof StartError) return cause;
  // Those of the migrations say what to do themselves.
  const message =
    cause instanceof MillraceError ? cause.message : (sentence(cause as NodeJS.ErrnoException, url) as string);
  return new StartError('database_unusable', message, { cause });
}

/** The same for the embedded server, which is ours: what it refuses lies in its data. */
export function embeddedError(cause: unknown, directory: string): StartError {
  if (cause instanceof StartError) return cause;
  const { message } = cause as Error;
  return new StartError(
    'database_unusable',
    cause instanceof MillraceError
      ? message
      : `The embedded Postgres in ${directory} cannot be used (${message}): restore that folder, or move it away to begin with an empty one.`,
    { cause },
  );
}

function sentence({ code = '', message }: NodeJS.ErrnoException, url: string): string {
  const { hostname, port, username, pathname } = new URL(url);
  const server = `${hostname || 'localhost'}:${port || 5432}`;
  const user = decodeURIComponent(username);
  const database = decodeURIComponent(pathname.slice(1));
  if (CERTIFICATE.test(code)) {
    return `The certificate of ${server} cannot be verified (${message}): give the PEM file of its authority as DATABASE_CA_FILE.`;
  }
  if (/does not support SSL/.test(message)) {
    return isLoopback(hostname)
      ? `The Postgres at ${server} speaks no TLS: take sslmode out of DATABASE_URL, or switch TLS on there.`
      : `The Postgres at ${server} speaks no TLS, and only a server on this machine is used without: switch TLS on there, or use one here.`;
  }
  if (/establishing an SSL connection|terminated unexpectedly/.test(message) || code === 'ECONNRESET') {
    return `What listens at ${server} hangs up and may be no Postgres (${message}): check host and port in DATABASE_URL.`;
  }
  if (/client password must be/.test(message)) {
    return `The Postgres at ${server} wants a password of "${user}": write it into DATABASE_URL as postgres://${username}:password@…`;
  }
  if (/timeout|timed out/i.test(message)) {
    return `The Postgres at ${server} does not answer within 5 s: check host, port and firewall in DATABASE_URL.`;
  }
  const known: Readonly<Record<string, string>> = {
    ECONNREFUSED: `No Postgres answers at ${server}: start it, or unset DATABASE_URL to use the embedded one.`,
    ENOTFOUND: `There is no host "${hostname}": correct DATABASE_URL, or unset it to use the embedded Postgres.`,
    EAI_AGAIN: `The host "${hostname}" cannot be looked up now: check the network or DATABASE_URL, or unset it to use the embedded Postgres.`,
    '28P01': `The Postgres at ${server} refuses the password of "${user}": correct it in DATABASE_URL.`,
    '28000': `The Postgres at ${server} does not let "${user}" in from here (${message}): correct DATABASE_URL or its pg_hba.conf.`,
    '3D000': `The Postgres at ${server} has no database "${database}": create it (createdb ${database}), or correct DATABASE_URL.`,
    '42501': `"${user}" may not create the schema millrace in "${database}" (${message}): grant it CREATE on the database.`,
    '53300': `The Postgres at ${server} has no connection left (${message}): close some, or raise max_connections.`,
  };
  return (
    known[code] ??
    `The database at ${server} cannot be used (${message || code}): correct DATABASE_URL, or unset it to use the embedded Postgres.`
  );
}
