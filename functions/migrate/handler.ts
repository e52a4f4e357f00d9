import type pg from 'pg';
import { connector } from '../lambda/connect.ts';
import { databaseEnv, readEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { snakeCased } from '../lambda/telemetry.ts';
import { connectPatiently } from './connect-patiently.ts';
import { migrationsDirectory } from './directory.ts';
import { type MigrateResult, migrate } from './runner.ts';

const log = createLog({ function: 'migrate' });

/** Brings the database to the schema of this release. Called by the deploy, which fails with what is thrown here. */
export async function handler(): Promise<MigrateResult> {
  const connect = connector(readEnv(databaseEnv), 'migrate');
  const client = (await connectPatiently(connect, {
    onRetry: (error, delayMs) => log.info('database.awaited', { error, delay_ms: delayMs }),
  })) as pg.Client;
  try {
    const result = await migrate(client, {
      directory: migrationsDirectory(),
      onProgress: ({ name, ...fields }) => log.info(name, snakeCased(fields)),
    });
    log.info('schema.migrated', { ...result });
    return result;
  } finally {
    await client.end().catch(() => {});
  }
}
