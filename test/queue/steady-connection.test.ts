import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';
import {
  type Connect,
  ConnectionLostError,
  DatabaseTimeoutError,
  SteadyConnection,
} from '../../functions/queue/steady-connection.ts';
import { connectTo, until } from '../lifecycle/ground.ts';
import { expect, inject, test, vi } from '../support/fixtures.ts';

// A server's connection is what they look at, so they go past the pooler where there is one; test/pooler looks at that.
const pidOf = async (db: Db) => (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

test('it connects when first needed, and stays connected', async ({ directUrl }) => {
  const connect = vi.fn(connectTo(directUrl));
  const connection = new SteadyConnection(connect, () => 5_000);
  expect(connect).not.toHaveBeenCalled();
  expect(await pidOf(connection)).toBe(await pidOf(connection));
  expect(connect).toHaveBeenCalledTimes(1);
  await connection.close();
});

test('a statement beyond its deadline is given up with its connection, and the next gets another', async ({
  db,
  directUrl,
}) => {
  let timeoutMs = 5_000;
  const connection = new SteadyConnection(connectTo(directUrl), () => timeoutMs);
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
  directUrl,
}) => {
  const connection = new SteadyConnection(connectTo(directUrl), () => 5_000);
  const session = await connection.session();
  const pid = await pidOf(session);
  await db.query('SELECT pg_terminate_backend($1)', [pid]);
  await until(() => session.broken());
  await expect(session.query('SELECT 1')).rejects.toBeInstanceOf(ConnectionLostError);
  expect(await pidOf(connection)).not.toBe(pid);
  await connection.close();
});

test.each([
  ['was frozen for longer than a minute', 61_000],
  ['has its clock set back by hours', -7_200_000],
])('a connection of a process that %s is replaced before use; a younger one is not', async (_, ms) => {
  const connect = vi.fn(connectTo(inject('serverUrl')));
  const connection = new SteadyConnection(connect, () => 5_000);
  const pid = await pidOf(connection);
  const began = Date.now();
  const now = vi.spyOn(Date, 'now').mockReturnValue(began + 59_000);
  expect(await pidOf(connection)).toBe(pid);
  now.mockReturnValue(began + 59_000 + ms);
  expect(await pidOf(connection)).not.toBe(pid);
  expect(connect).toHaveBeenCalledTimes(2);
  await connection.close();
});

test('an error that the server answers leaves the connection as it is', async ({ directUrl }) => {
  const connection = new SteadyConnection(connectTo(directUrl), () => 5_000);
  const pid = await pidOf(connection);
  await expect(connection.query('SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
  await expect(connection.query('SELECT nonsense')).rejects.toMatchObject({ code: '42703' });
  expect(await pidOf(connection)).toBe(pid);
  await connection.close();
});

test('a server that turned read-only is left, so that the next connection finds the new primary', async ({
  directUrl,
}) => {
  const connection = new SteadyConnection(connectTo(directUrl), () => 5_000);
  const pid = await pidOf(connection);
  await connection.query('SET default_transaction_read_only = on');
  await expect(connection.query('DELETE FROM millrace.live_jobs')).rejects.toMatchObject({ code: '25006' });
  expect(await pidOf(connection)).not.toBe(pid);
  await connection.close();
});

test('a connection that comes about after its time is ended', async ({ directUrl }) => {
  const ended = Promise.withResolvers<void>();
  const slow: Connect = async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const late = new pg.Client({ connectionString: directUrl });
    late.once('end', () => ended.resolve());
    await late.connect();
    return late;
  };
  const connection = new SteadyConnection(slow, () => 20);
  await expect(connection.query('SELECT 1')).rejects.toBeInstanceOf(DatabaseTimeoutError);
  await ended.promise;
});

test('a closed one refuses, also a statement that was waiting for its connection', async ({ directUrl }) => {
  const connection = new SteadyConnection(connectTo(directUrl), () => 5_000);
  const waiting = connection.query('SELECT 1');
  await connection.close();
  await expect(waiting).rejects.toThrow('closed');
  await expect(connection.query('SELECT 1')).rejects.toThrow('closed');
});
