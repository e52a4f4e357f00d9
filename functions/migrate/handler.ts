import type pg from 'pg';
import { connector } from '../lambda/connect.ts';
import { databaseEnv, readEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { snakeCased } from '../lambda/telemetry.ts';
import { connectPatiently } from './connect-patiently.ts';
import { migrationsDirectory } from './directory.ts';
import { loginsEnv } from './env.ts';
import { makeIamLogins } from './iam-logins.ts';
import { makeLogin } from './login.ts';
import { ensureRoles } from './queue-roles.ts';
import { type MigrateResult, migrate } from './runner.ts';

const log = createLog({ function: 'migrate' });

/**
 * Brings the database to the schema of this release, and then makes the logins of the functions. Called by the deploy, which
 * fails with what is thrown here.
 */
export async function handler(): Promise<MigrateResult> {
  const env = readEnv(databaseEnv);
  const logins = readEnv(loginsEnv);
  const connect = connector(env, 'migrate');
  const client = (await connectPatiently(connect, {
    onRetry: (error, delayMs) => log.info('database.awaited', { error, delay_ms: delayMs }),
  })) as pg.Client;
  client.on('notice', ({ severity, message, hint }) => {
    if (severity === 'WARNING') log.warn('database.warned', { warning: message, hint });
  });
  try {
    const result = await migrate(client, {
      directory: migrationsDirectory(),
      onProgress: ({ name, ...fields }) => log.info(name, snakeCased(fields)),
    });
    log.info('schema.migrated', { ...result });
    if (logins.LOGIN_SECRET_ARN !== undefined) {
      await ensureRoles(client);
      // The same server and database, whatever the secret says.
      const { host, port, database } = client;
      const place = { ...env, DATABASE_HOST: host, DATABASE_PORT: port, DATABASE_NAME: database };
      log.info('login.made', { ...(await makeLogin(client, logins.LOGIN_SECRET_ARN, place)) });
    }
    if (logins.IAM_LOGINS === 'true') {
      await ensureRoles(client);
      await makeIamLogins(client, connect);
      log.info('login.made', { by: 'IAM' });
    }
    return result;
  } finally {
    await client.end().catch(() => {});
  }
}
