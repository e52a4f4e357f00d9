import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
