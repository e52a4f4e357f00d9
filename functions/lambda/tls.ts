import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { ConfigurationError } from './configuration-error.ts';

/**
 * TLS towards a database host: the certificate chain and the name are verified, always, and nothing turns that off.
 * On loopback the server is this machine: no TLS there, unless `sslmode` of DATABASE_URL asks for it (then verified too).
 */
export function tlsFor(
  host: string,
  { sslmode, caFile }: { sslmode?: string | undefined; caFile?: string | undefined } = {},
): false | ConnectionOptions {
  if (isLoopback(host) && !ASKS_FOR_TLS.includes(sslmode ?? '')) return false;
  return {
    // Said outright, since NODE_TLS_REJECT_UNAUTHORIZED=0 changes what is not said.
    rejectUnauthorized: true,
    ...(caFile === undefined ? {} : { ca: readCa(caFile) }),
  };
}

const ASKS_FOR_TLS = ['require', 'verify-ca', 'verify-full'];

/** A path is a Unix socket. A URL has IPv6 in brackets. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host === '::1' ||
    host === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(host) ||
    host.startsWith('/')
  );
}

function readCa(file: string): string {
  const path = resolve(process.env.LAMBDA_TASK_ROOT ?? '.', file);
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`DATABASE_CA_FILE: ${path} cannot be read`, { cause: error });
  }
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new ConfigurationError(`DATABASE_CA_FILE: ${path} holds no PEM`);
  return pem;
}
