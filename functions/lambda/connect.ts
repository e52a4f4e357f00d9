import type pg from 'pg';
import type { Connect } from '../queue/steady-connection.ts';
import { fromUrl, open } from './connect-url.ts';
import type { DatabaseEnv, DatabasePlace } from './env.ts';
import { IamLoginRefusedError, iamTokens } from './iam-token.ts';
import { type Credentials, secretReader } from './secret.ts';
import { tlsFor } from './tls.ts';
import { isRefusedLogin, withSecret } from './with-secret.ts';

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
