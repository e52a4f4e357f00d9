/** `npm run migrate`: brings the database of DATABASE_URL to the schema of this version. */

import type pg from 'pg';
import { connector } from '../functions/lambda/connect.ts';
import { databaseEnv, readEnv } from '../functions/lambda/env.ts';
import { connectPatiently } from '../functions/migrate/connect-patiently.ts';
import { migrationsDirectory } from '../functions/migrate/directory.ts';
import { migrate } from '../functions/migrate/runner.ts';

try {
  const client = (await connectPatiently(connector(readEnv(databaseEnv), 'migrate'), {
    onRetry: (error) =>
      console.log(`waiting for the database: ${error.message || (error as NodeJS.ErrnoException).code}`),
  })) as pg.Client;
  client.on('notice', ({ severity, message, hint }) => {
    if (severity === 'WARNING') console.log([`warning: ${message}`, hint].filter(Boolean).join('\n'));
  });
  try {
    const { applied, version, ahead } = await migrate(client, {
      directory: migrationsDirectory(),
      onProgress: (progress) => {
        if (progress.name === 'migration.applied') console.log(`${progress.file}: ${progress.durationMs} ms`);
        else console.log(`${progress.file}: somebody holds a lock, again in ${progress.delayMs} ms`);
      },
    });
    const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.length}`;
    console.log(`${done}; the schema is at version ${version}${ahead ? ', newer than this code' : ''}`);
  } finally {
    await client.end();
  }
} catch (error) {
  const { message, stack } = error as Error;
  console.error(process.env.LOG_LEVEL === 'debug' ? stack : message || String(error));
  process.exitCode = 1;
}
