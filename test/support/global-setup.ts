import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { inDatabase, onServer, openClient } from './database.ts';
import { startPgbouncer } from './pgbouncer.ts';
import { provideServer } from './server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by the project: which Postgres its server is. Absent with DATABASE_URL. */
    postgresMajor: number;
    /** URL of the maintenance database of this project's server; the role may create databases. */
    serverUrl: string;
    /** Set by the project: what tests do goes through a PgBouncer in transaction mode. */
    pooled: boolean;
    /** URL of the maintenance database by way of the project's pooler; undefined: it has none. */
    poolerUrl: string | undefined;
    /** A migrated database that nobody is connected to: `CREATE DATABASE … TEMPLATE`. */
    templateName: string;
    /** A folder for what is made once for all test files. */
    sharedDirectory: string;
  }
}

/** Starts the project's Postgres and migrates one template database on it. Vitest calls it only if the project has tests to run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await provideServer(project.config.provide?.postgresMajor);
  const templateName = `millrace_template_${randomBytes(6).toString('hex')}`;
  try {
    await onServer(server.url, `CREATE DATABASE ${templateName} TEMPLATE template0`);
    const client = await openClient(inDatabase(server.url, templateName));
    await migrate(client, { directory: migrationsDirectory() }).finally(() => client.end());
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('serverUrl', server.url);
  project.provide('templateName', templateName);
  const pooler = project.config.provide?.pooled ? await startPgbouncer(server.url) : undefined;
  project.provide('poolerUrl', pooler?.url);
  const sharedDirectory = await mkdtemp(join(tmpdir(), 'millrace-shared-'));
  project.provide('sharedDirectory', sharedDirectory);
  return async () => {
    await rm(sharedDirectory, { recursive: true, force: true });
    await pooler?.stop();
    if (server.lasting) await onServer(server.url, `DROP DATABASE IF EXISTS ${templateName} WITH (FORCE)`);
    await server.stop();
  };
}
