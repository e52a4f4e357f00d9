import type pg from 'pg';
import Client from 'pg/lib/client.js';
import { ConfigurationError } from './configuration-error.ts';
import { tlsFor } from './tls.ts';

/** Milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;
/**
 * Milliseconds of silence after which a connection is probed. Linux waits two hours by itself; a NAT gateway forgets a
 * silent connection after 350 s, as it is when a job's own statement takes long, and tells nobody.
 * https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
 */
const KEEPALIVE_MS = 30_000;

/** Opens a connection that is named `millrace-<name>` in pg_stat_activity. */
export async function open(name: string, config: pg.ClientConfig): Promise<pg.Client> {
  const client = new Client({
    application_name: `millrace-${name}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    ...config,
  });
  // A connection that breaks while nobody is looking must not end the process; its next statement says so.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** What is said of TLS in the URL must not replace ours: it is taken out, and read only on loopback. */
export function fromUrl(url: string, caFile: string | undefined): pg.ClientConfig {
  const [address = '', query = ''] = url.split('?', 2);
  const params = new URLSearchParams(query);
  const sslmode = params.get('sslmode') ?? undefined;
  for (const key of [...params.keys()]) if (/^(ssl|uselibpqcompat)/.test(key)) params.delete(key);
  const connectionString = params.size > 0 ? `${address}?${params}` : address;
  let host: string;
  try {
    if (!/^postgres(ql)?:\/\//.test(url)) throw new Error('no such scheme');
    // As pg understands it: `?host=` counts more than what stands before the question mark.
    ({ host } = new Client({ connectionString }));
  } catch {
    // The error would show the URL, and with it the password.
    throw new ConfigurationError('DATABASE_URL is not a URL such as postgres://user:password@host:5432/database');
  }
  return { connectionString, ssl: tlsFor(host, { sslmode, caFile }) };
}
