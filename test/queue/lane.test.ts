import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';
import { type Connect, ConnectionLostError, DatabaseTimeoutError, Lane } from '../../functions/queue/lane.ts';
import { connectTo, until } from '../lifecycle/ground.ts';
import { expect, test, vi } from '../support/fixtures.ts';

const pidOf = async (db: Db) => (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

test('it connects when first needed, and stays connected', async ({ databaseUrl }) => {
  const connect = vi.fn(connectTo(databaseUrl));
  const lane = new Lane(connect, () => 5_000);
  expect(connect).not.toHaveBeenCalled();
  expect(await pidOf(lane)).toBe(await pidOf(lane));
  expect(connect).toHaveBeenCalledTimes(1);
  await lane.close();
});

test('a statement beyond its deadline is given up with its connection, and the next gets another', async ({
  db,
  databaseUrl,
}) => {
  let timeoutMs = 5_000;
  const lane = new Lane(connectTo(databaseUrl), () => timeoutMs);
  const pid = await pidOf(lane);
  timeoutMs = 50;
  await expect(lane.query('SELECT pg_sleep(20)')).rejects.toBeInstanceOf(DatabaseTimeoutError);
  timeoutMs = 5_000;
  expect(await pidOf(lane)).not.toBe(pid);
  await db.query('SELECT pg_terminate_backend($1)', [pid]);
  await lane.close();
});

test('a connection that is ended from outside while idle ends no process, and the next statement gets another', async ({
  db,
  databaseUrl,
}) => {
  const lane = new Lane(connectTo(databaseUrl), () => 5_000);
  const session = await lane.session();
  const pid = await pidOf(session);
  await db.query('SELECT pg_terminate_backend($1)', [pid]);
  await until(() => session.broken());
  await expect(session.query('SELECT 1')).rejects.toBeInstanceOf(ConnectionLostError);
  expect(await pidOf(lane)).not.toBe(pid);
  await lane.close();
});

test('an error that the server answers leaves the connection as it is', async ({ databaseUrl }) => {
  const lane = new Lane(connectTo(databaseUrl), () => 5_000);
  const pid = await pidOf(lane);
  await expect(lane.query('SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
  await expect(lane.query('SELECT nonsense')).rejects.toMatchObject({ code: '42703' });
  expect(await pidOf(lane)).toBe(pid);
  await lane.close();
});

test('a server that turned read-only is left, so that the next connection finds the new primary', async ({
  databaseUrl,
}) => {
  const lane = new Lane(connectTo(databaseUrl), () => 5_000);
  const pid = await pidOf(lane);
  await lane.query('SET default_transaction_read_only = on');
  await expect(lane.query('DELETE FROM millrace.live_jobs')).rejects.toMatchObject({ code: '25006' });
  expect(await pidOf(lane)).not.toBe(pid);
  await lane.close();
});

test('a connection that comes about after its time is ended', async ({ databaseUrl }) => {
  let late: pg.Client | undefined;
  const slow: Connect = async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    late = new pg.Client({ connectionString: databaseUrl });
    await late.connect();
    return late;
  };
  const lane = new Lane(slow, () => 20);
  await expect(lane.query('SELECT 1')).rejects.toBeInstanceOf(DatabaseTimeoutError);
  const client = await until(() => late);
  await new Promise<void>((resolve) => client.once('end', () => resolve()));
});

test('a closed one refuses, also a statement that was waiting for its connection', async ({ databaseUrl }) => {
  const lane = new Lane(connectTo(databaseUrl), () => 5_000);
  const waiting = lane.query('SELECT 1');
  await lane.close();
  await expect(waiting).rejects.toThrow('closed');
  await expect(lane.query('SELECT 1')).rejects.toThrow('closed');
});
