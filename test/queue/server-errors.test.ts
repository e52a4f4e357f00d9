import type { Db } from '../../functions/queue/db.ts';
import type { Fault } from '../../functions/queue/postgres-error.ts';
import { until } from '../lifecycle/ground.ts';
import { inDatabase } from '../support/database.ts';
import { describe, expect, openClient, test as plain } from '../support/fixtures.ts';
import { createLogin } from '../support/logins.ts';
import { meaningOf, said } from './said.ts';

const test = plain.extend('session', async ({ directUrl }, { onCleanup }) => {
  const client = await openClient(directUrl);
  onCleanup(() => client.end().catch(() => {}));
  return client;
});

describe('a statement that fails', () => {
  test.for<[string, string[], string, Fault]>([
    ['for its time', ["SET statement_timeout = '20ms'", 'SELECT pg_sleep(20)'], '57014', 'repeat'],
    ['for a NUL', ['SELECT chr(0)'], '54000', 'row'],
    ['for half a surrogate pair', [`SELECT '"\\ud800"'::jsonb`], '22P02', 'row'],
    ['for an escaped NUL', [`SELECT '"\\u0000"'::jsonb`], '22P05', 'row'],
    ['for JSON that is nested too deeply', ["SELECT repeat('[', 100000)::jsonb"], '54001', 'row'],
    ['for a value out of range', ['SELECT 40000::int2'], '22003', 'row'],
    ['for a constraint', ["INSERT INTO millrace.live_jobs (id, kind) VALUES (NULL, 'a')"], '23502', 'row'],
    [
      'in a read-only session',
      ['SET default_transaction_read_only = on', 'DELETE FROM millrace.live_jobs'],
      '25006',
      'lost',
    ],
    ['behind one that failed', ['BEGIN', 'SELECT nonsense', 'SELECT 1'], '25P02', 'fatal'],
    ['for no such table', ['SELECT FROM millrace.nonsense'], '42P01', 'fatal'],
    ['for a missing right', ['SET ROLE millrace_producer', 'DELETE FROM millrace.dead_jobs'], '42501', 'fatal'],
  ])('%s', async ([, statements, state, fault], { session }) => {
    for (const text of statements.slice(0, -1)) await session.query(text).catch(() => {});
    expect(await said(session.query(statements.at(-1) as string))).toEqual([state, fault]);
  });

  test('because somebody cancels it, or ends its connection', async ({ session, db }) => {
    const pid = await pidOf(session);
    for (const [end, expected] of [
      ['pg_cancel_backend', ['57014', 'repeat']],
      ['pg_terminate_backend', ['57P01', 'lost']],
    ] as const) {
      const sleeping = said(session.query('SELECT pg_sleep(20)'));
      await until(async () => (await waitEvent(db, pid)) === 'PgSleep');
      await db.query(`SELECT ${end}($1)`, [pid]);
      expect(await sleeping).toEqual(expected);
    }
  });

  test('for a lock: not available in time, a deadlock', async ({ session, directUrl, db }) => {
    const other = await openClient(directUrl);
    await session.query("SET lock_timeout = '20ms'");
    await session.query('BEGIN');
    await other.query('BEGIN');
    await session.query('SELECT pg_advisory_xact_lock(1)');
    await other.query('SELECT pg_advisory_xact_lock(2)');
    await session.query('SAVEPOINT before');
    expect(await said(session.query('SELECT pg_advisory_xact_lock(2)'))).toEqual(['55P03', 'repeat']);
    await session.query("ROLLBACK TO before; SET LOCAL lock_timeout = '0'; SET LOCAL deadlock_timeout = '20ms'");
    await other.query("SET LOCAL deadlock_timeout = '20s'");
    const pid = await pidOf(other);
    const waiting = other.query('SELECT pg_advisory_xact_lock(1)');
    await until(async () => (await waitEvent(db, pid)) === 'advisory');
    expect(await said(session.query('SELECT pg_advisory_xact_lock(2)'))).toEqual(['40P01', 'repeat']);
    await session.query('ROLLBACK');
    await waiting;
    await other.end();
  });

  test.for<[string, string]>([
    ['idle_in_transaction_session_timeout', '25P03'],
    ['idle_session_timeout', '57P05'],
  ])('because its connection lay idle for longer than %s', async ([setting, state], { session }) => {
    const heard = new Promise<unknown>((resolve) => session.once('error', resolve));
    await session.query(`SET ${setting} = '20ms'`);
    if (state === '25P03') await session.query('BEGIN');
    const error = await heard;
    expect(meaningOf(error)).toEqual([state, 'lost']);
    expect(await said(session.query('SELECT 1'))).toEqual([undefined, 'lost']);
  });
});

describe('a login that is refused', () => {
  test('for its password, its role, its database, and for one connection too many', async ({ own }) => {
    const as = (changed: Partial<Pick<URL, 'username' | 'password'>>) => {
      const url = Object.assign(new URL(own.directUrl), changed);
      return said(openClient(url.href));
    };
    expect(await as({ password: 'wrong' })).toEqual(['28P01', 'fatal']);
    expect(await as({ username: 'nobody_here' })).toEqual(['28P01', 'fatal']);
    expect(await said(openClient(inDatabase(own.directUrl, 'nowhere')))).toEqual(['3D000', 'fatal']);
    const login = await createLogin(own);
    const { username, password } = new URL(login.url);
    for (const [change, expected] of [
      ['CONNECTION LIMIT 0', ['53300', 'lost']],
      ['NOLOGIN', ['28000', 'fatal']],
    ] as const) {
      await own.pool.query(`ALTER ROLE ${login.name} ${change}`);
      expect(await as({ username, password })).toEqual(expected);
    }
    await login.drop();
  });
});

async function pidOf(db: Db): Promise<number> {
  return (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid as number;
}

async function waitEvent(db: Db, pid: number): Promise<string | undefined> {
  const { rows } = await db.query<{ wait_event: string }>('SELECT wait_event FROM pg_stat_activity WHERE pid = $1', [
    pid,
  ]);
  return rows[0]?.wait_event;
}
