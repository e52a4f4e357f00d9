import type pg from 'pg';
import Client from 'pg/lib/client.js';
import type { Connect } from '../queue/steady-connection.ts';
import { ConfigurationError, type DatabaseEnv, type DatabasePlace } from './env.ts';
import { IamLoginRefusedError, iamTokens } from './iam-token.ts';
import { type Credentials, secretReader } from './secret.ts';
import { tlsFor } from './tls.ts';
import { isRefusedLogin, withSecret } from './with-secret.ts';

/** Milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Opens connections to the configured database, one at each call, named `millrace-<name>` in pg_stat_activity. Who logs in
 * with a secret reads it once, and again when the server refuses it; an IAM login signs a token for each connection.
 */
export function connector(env: DatabaseEnv, name: string): Connect {
  if (env.DATABASE_URL !== undefined) {
    const config = fromUrl(env.DATABASE_URL, env.DATABASE_CA_FILE);
    return () => open(name, config);
  }
  if (env.DATABASE_SECRET_ARN !== undefined) {
    return withSecret(secretReader(env.DATABASE_SECRET_ARN, env), loginWith(env, name));
  }
  return withToken(env, name);
}

/** Opens a connection with the credentials that it is given. */
export function loginWith(
  { DATABASE_CA_FILE: caFile }: DatabasePlace,
  name: string,
): (credentials: Credentials) => Promise<pg.Client> {
  return ({ host, port, username: user, password, dbname: database }) =>
    open(name, { host, port, user, password, database, ssl: tlsFor(host, { caFile }) });
}

function withToken(env: DatabaseEnv, name: string): Connect {
  const {
    DATABASE_HOST: host = '',
    DATABASE_PORT: port = 5432,
    DATABASE_NAME: database = 'postgres',
    DATABASE_USER: user = '',
    DATABASE_CA_FILE: caFile,
    AWS_REGION: region = '',
  } = env;
  const login = { host, port, user, region };
  const token = iamTokens(login);
  return async () => {
    // The server asks for it as it is: never without TLS, loopback or not.
    const ssl = tlsFor(host, { sslmode: 'verify-full', caFile });
    try {
      return await open(name, { host, port, user, password: await token(), database, ssl });
    } catch (error) {
      if (isRefusedLogin(error)) throw new IamLoginRefusedError(login, error as Error);
      throw error;
    }
  };
}

async function open(name: string, config: pg.ClientConfig): Promise<pg.Client> {
  const client = new Client({
    application_name: `millrace-${name}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...config,
  });
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
    ({ host } = new Client({ connectionString }));
  } catch {
    // The error would show the URL, and with it the password.
    throw new ConfigurationError('DATABASE_URL is not a URL such as postgres://user:password@host:5432/database');
  }
  return { connectionString, ssl: tlsFor(host, { sslmode, caFile }) };
}
