import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { connector } from '../../functions/lambda/connect.ts';
import { connectPatiently } from '../../functions/migrate/connect-patiently.ts';
import { freePort } from '../../local/postgres/server.ts';
import { startPostgres } from '../../local/postgres.ts';
import { createDatabase } from '../support/database.ts';
import { afterEach, describe, expect, inject, test, vi } from '../support/fixtures.ts';

afterEach(() => void vi.unstubAllEnvs());

test('the deploy’s handler migrates the database of its environment, and a second deploy changes nothing', async ({
  own,
}) => {
  const { url, drop } = await createDatabase(inject('serverUrl'));
  vi.stubEnv('LOG_LEVEL', 'error');
  vi.stubEnv('DATABASE_URL', url);
  const { handler } = await import('../../functions/migrate/handler.ts');
  const first = await handler();
  expect(first.applied[0]).toBe('0001_jobs.sql');
  expect(await handler()).toEqual({ applied: [], version: first.applied.length, ahead: false });
  await drop();

  vi.stubEnv('DATABASE_URL', own.url);
  await own.pool.query(`UPDATE millrace.migrations SET checksum = 'another' WHERE version = 1`);
  await expect(handler()).rejects.toThrow(/0001_jobs\.sql was changed/);
});

describe('connecting', () => {
  test('waits for a database that is not up yet', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-late-'));
    const port = await freePort();
    const waits: string[] = [];
    // The password is random and not known before: a refusal of it means that the server is up.
    const connect = connector({ DATABASE_URL: `postgres://postgres:wrong@127.0.0.1:${port}/postgres` }, 'migrate');
    const connected = connectPatiently(connect, {
      onRetry: (error) => waits.push((error as NodeJS.ErrnoException).code ?? ''),
    });
    const refused = expect(connected).rejects.toMatchObject({ code: '28P01' });
    await expect.poll(() => waits.length).toBeGreaterThan(0);
    const server = await startPostgres({ directory, port, settings: { fsync: 'off' } });
    await refused;
    await server.stop();
    await rm(directory, { recursive: true });
    expect(waits[0]).toBe('ECONNREFUSED');
  });

  test('gives up with what went wrong', async () => {
    const port = await freePort();
    const connect = connector({ DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres` }, 'migrate');
    await expect(connectPatiently(connect, { seconds: 0.5 })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('does not wait for what waiting cannot mend', async () => {
    let tries = 0;
    const url = new URL(inject('serverUrl'));
    url.pathname = '/no_such_database';
    const connect = async () => {
      tries++;
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
    };
    await expect(connectPatiently(connect)).rejects.toMatchObject({ code: '3D000' });
    expect(tries).toBe(1);
  });
});

describe('npm run migrate', () => {
  test('says what it did, and then that there is nothing to do', async () => {
    const { url, drop } = await createDatabase(inject('serverUrl'));
    const first = await migrateCommand({ DATABASE_URL: url });
    expect(first.stderr).toBe('');
    expect(first.stdout).toMatch(/^0001_jobs\.sql: \d+ ms\n/);
    expect(first.stdout).toMatch(/applied \d+; the schema is at version \d+\n$/);
    expect(first.code).toBe(0);
    const second = await migrateCommand({ DATABASE_URL: url });
    expect(second.stdout).toMatch(/^nothing to do; the schema is at version \d+\n$/);
    await drop();
  });

  test('fails with one sentence', async () => {
    expect(await migrateCommand({ DATABASE_URL: '' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'environment: set DATABASE_URL, or DATABASE_SECRET_ARN, or DATABASE_USER and DATABASE_HOST\n',
    });
  });
});

async function migrateCommand(env: NodeJS.ProcessEnv): Promise<{ code: number; stdout: string; stderr: string }> {
  const script = fileURLToPath(new URL('../../bin/migrate.ts', import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, stdout, stderr };
}
