import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';
import {
  type Connect,
  ConnectionLostError,
  DatabaseTimeoutError,
  SteadyConnection,
} from '../../functions/queue/steady-connection.ts';
import { connectTo, until } from '../lifecycle/ground.ts';
import { expect, test, vi } from '../support/fixtures.ts';

const pidOf = async (db: Db) => (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

test('it connects when first needed, and stays connected', async ({ databaseUrl }) => {
  const connect = vi.fn(connectTo(databaseUrl));
  const connection = new SteadyConnection(connect, () => 5_000);
  expect(connect).not.toHaveBeenCalled();
  expect(await pidOf(connection)).toBe(await pidOf(connection));
  expect(connect).toHaveBeenCalledTimes(1);
  await connection.close();
});

test('a statement beyond its deadline is given up with its connection, and the next gets another', async ({
  db,
  databaseUrl,
}) => {
  let timeoutMs = 5_000;
  const connection = new SteadyConnection(connectTo(databaseUrl), () => timeoutMs);
  const pid = await pidOf(connection);
  timeoutMs = 50;
  await expect(connection.query('SELECT pg_sleep(20)')).rejects.toBeInstanceOf(DatabaseTimeoutError);
  timeoutMs = 5_000;
  expect(await pidOf(connection)).not.toBe(pid);
  await db.query('SELECT pg_terminate_backend($1)', [pid]);
  await connection.close();
});

test('a connection that is ended from outside while idle ends no process, and the next statement gets another', async ({
  db,
  databaseUrl,
}) => {
  const connection = new SteadyConnection(connectTo(databaseUrl), () => 5_000);
  const session = await connection.session();
  const pid = await pidOf(session);
  await db.query('SELECT pg_terminate_backend($1)', [pid]);
  await until(() => session.broken());
  await expect(session.query('SELECT 1')).rejects.toBeInstanceOf(ConnectionLostError);
  expect(await pidOf(connection)).not.toBe(pid);
  await connection.close();
});

test('an error that the server answers leaves the connection as it is', async ({ databaseUrl }) => {
  const connection = new SteadyConnection(connectTo(databaseUrl), () => 5_000);
  const pid = await pidOf(connection);
  await expect(connection.query('SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
  await expect(connection.query('SELECT nonsense')).rejects.toMatchObject({ code: '42703' });
  expect(await pidOf(connection)).toBe(pid);
  await connection.close();
});

test('a server that turned read-only is left, so that the next connection finds the new primary', async ({
  databaseUrl,
}) => {
  const connection = new SteadyConnection(connectTo(databaseUrl), () => 5_000);
  const pid = await pidOf(connection);
  await connection.query('SET default_transaction_read_only = on');
  await expect(connection.query('DELETE FROM millrace.live_jobs')).rejects.toMatchObject({ code: '25006' });
  expect(await pidOf(connection)).not.toBe(pid);
  await connection.close();
});

test('a connection that comes about after its time is ended', async ({ databaseUrl }) => {
  let late: pg.Client | undefined;
  const slow: Connect = async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    late = new pg.Client({ connectionString: databaseUrl });
    await late.connect();
    return late;
  };
  const connection = new SteadyConnection(slow, () => 20);
  await expect(connection.query('SELECT 1')).rejects.toBeInstanceOf(DatabaseTimeoutError);
  const client = await until(() => late);
  await new Promise<void>((resolve) => client.once('end', () => resolve()));
});

test('a closed one refuses, also a statement that was waiting for its connection', async ({ databaseUrl }) => {
  const connection = new SteadyConnection(connectTo(databaseUrl), () => 5_000);
  const waiting = connection.query('SELECT 1');
  await connection.close();
  await expect(waiting).rejects.toThrow('closed');
  await expect(connection.query('SELECT 1')).rejects.toThrow('closed');
});
