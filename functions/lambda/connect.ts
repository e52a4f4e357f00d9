import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { sqlState } from '../queue/postgres-error.ts';
import type { Connect } from '../queue/steady-connection.ts';
import { ConfigurationError, type DatabaseEnv } from './env.ts';
import { type Credentials, type ReadSecret, type Stage, secretReader } from './secret.ts';
import { tlsFor } from './tls.ts';

/** Milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Opens connections to the configured database, one at each call, named `millrace-<name>` in pg_stat_activity.
 * Credentials are read once and again when the server refuses them.
 */
export function connector(env: DatabaseEnv, name: string): Connect {
  const common = { application_name: `millrace-${name}`, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true };
  if (env.DATABASE_URL !== undefined) {
    const config = { ...common, ...fromUrl(env.DATABASE_URL, env.DATABASE_CA_FILE) };
    return () => open(config);
  }
  return withSecret(secretReader(env.DATABASE_SECRET_ARN as string), ({ host, port, username, password, dbname }) =>
    open({
      ...common,
      host,
      port,
      user: username,
      password,
      database: dbname,
      ssl: tlsFor(host, { caFile: env.DATABASE_CA_FILE }),
    }),
  );
}

async function open(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  // A connection that breaks while nobody is looking must not end the process; its next statement says so.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** What is said of TLS in the URL must not replace ours: it is taken out, and read only on loopback. */
function fromUrl(url: string, caFile: string | undefined): pg.ClientConfig {
  const [address = '', query = ''] = url.split('?', 2);
  const params = new URLSearchParams(query);
  const sslmode = params.get('sslmode') ?? undefined;
  for (const key of [...params.keys()]) if (/^(ssl|uselibpqcompat)/.test(key)) params.delete(key);
  const connectionString = params.size > 0 ? `${address}?${params}` : address;
  let host: string;
  try {
    if (!/^postgres(ql)?:\/\//.test(url)) throw new Error('no such scheme');
    // As pg understands it: `?host=` counts more than what stands before the question mark.
    ({ host } = new pg.Client({ connectionString }));
  } catch {
    // The error would show the URL, and with it the password.
    throw new ConfigurationError('DATABASE_URL is not a URL such as postgres://user:password@host:5432/database');
  }
  return { connectionString, ssl: tlsFor(host, { sslmode, caFile }) };
}

/** Milliseconds. A rotation moves AWSCURRENT within about that time of changing the password. */
const ROTATION_PAUSE_MS = 2000;

/** What to try when the server refuses a login: the secret may have been rotated, or be in the middle of it. */
const AGAIN: readonly { stage: Stage; afterMs: number }[] = [
  { stage: 'AWSCURRENT', afterMs: 0 },
  { stage: 'AWSPENDING', afterMs: 0 },
  { stage: 'AWSCURRENT', afterMs: ROTATION_PAUSE_MS },
];

export function withSecret<Connection>(
  read: ReadSecret,
  connect: (credentials: Credentials) => Promise<Connection>,
): () => Promise<Connection> {
  let known: Credentials | undefined;
  return async () => {
    known ??= await read('AWSCURRENT');
    try {
      return await connect(known as Credentials);
    } catch (error) {
      let refusal = error;
      for (const { stage, afterMs } of AGAIN) {
        if (!isRefusedLogin(refusal)) break;
        await sleep(afterMs);
        const credentials = await read(stage);
        if (credentials === undefined) continue;
        try {
          const connection = await connect(credentials);
          known = credentials;
          return connection;
        } catch (next) {
          refusal = next;
        }
      }
      throw refusal;
    }
  };
}

/** 28P01: wrong password. 28000: no such role any more, or what RDS Proxy says of credentials it does not know. */
function isRefusedLogin(error: unknown): boolean {
  return ['28P01', '28000'].includes(sqlState(error) ?? '');
}
