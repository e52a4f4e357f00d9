import type pg from 'pg';
import { execute, whilePasswordsStay } from '../lambda/set-password.ts';
import { isRefusedLogin } from '../lambda/with-secret.ts';
import { allowed, LoginError } from './login-error.ts';
import { adminOf } from './queue-roles.ts';

const IS_RDS = `SELECT to_regrole('rds_iam') IS NOT NULL AS yes`;
/**
 * A login of its own for each role, and not the role itself: members of a role have what it has, so an application that is a
 * member of the role could not log in with a password any more.
 */
const LOGINS = `
  SELECT role, role || '_iam' AS login
  FROM unnest(millrace.role_names()) AS role`;
const MAKE = `
  SELECT format(CASE WHEN r.oid IS NULL THEN 'CREATE ROLE %I LOGIN' ELSE 'ALTER ROLE %I LOGIN INHERIT' END, login) AS statement
  FROM (${LOGINS}) AS logins
  LEFT JOIN pg_roles r ON r.rolname = login
  WHERE r.oid IS NULL OR NOT (r.rolcanlogin AND r.rolinherit)`;
const SET_TIMEOUTS = `
  SELECT millrace.set_timeouts(login::name, role)
  FROM (${LOGINS}) AS logins`;
/** From Postgres 16 on each membership says for itself whether it is of any use without SET ROLE. */
const JOIN = `
  SELECT format(
    'GRANT %I TO %I' || CASE WHEN current_setting('server_version_num')::int >= 160000 THEN ' WITH INHERIT TRUE' ELSE '' END,
    role, login) AS statement
  FROM (${LOGINS}) AS logins
  WHERE NOT pg_has_role(login::name, role, 'USAGE')`;
const WITHOUT_TOKEN = `
  SELECT login
  FROM (${LOGINS}) AS logins
  WHERE NOT pg_has_role(login::name, 'rds_iam', 'MEMBER')`;
/** Whoever has rds_iam logs in by token alone. */
const GIVE = `
  SELECT format('GRANT rds_iam TO %I', login) AS statement
  FROM unnest($1::name[]) AS login`;
const TAKE_BACK = `
  SELECT format('REVOKE rds_iam FROM %I', login) AS statement
  FROM unnest($1::name[]) AS login`;

/**
 * Makes a login by IAM for each role of the queue, with the role's rights and timeouts: `millrace_producer_iam` and so on. Does
 * nothing to those that are so already.
 *
 * @param reconnect logs in as the migrator once more
 * @throws LoginError
 */
export async function makeIamLogins(
  client: pg.Client,
  reconnect: () => Promise<{ end(): Promise<void> }>,
): Promise<void> {
  const admin = await adminOf(client);
  const given = await whilePasswordsStay(client, () => letInByToken(client, admin));
  if (given.length > 0) await keepMigrator(client, admin, given, reconnect);
}

/** Resolves the logins that had no rds_iam before. */
async function letInByToken(client: pg.Client, admin: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ yes: boolean }>(IS_RDS);
  if (rows[0]?.yes !== true) {
    throw new LoginError(
      'this database has no role rds_iam, so it is none of RDS or Aurora: set databaseAuth to "secret" to log in with passwords',
    );
  }
  return await allowed(
    `let an administrator GRANT the roles of the queue (SELECT millrace.role_names()) and rds_iam TO ${admin} WITH ADMIN OPTION`,
    async () => {
      await execute(client, MAKE);
      await client.query(SET_TIMEOUTS);
      await execute(client, JOIN);
      const without = (await client.query<{ login: string }>(WITHOUT_TOKEN)).rows.map(({ login }) => login);
      await execute(client, GIVE, [without]);
      return without;
    },
  );
}

/**
 * From Postgres 16 on, who makes a role becomes its member, and so the migrator one of rds_iam: a server that counts this lets it
 * in by token alone from now on, with nobody left to set it right. Found out while a connection is still open.
 */
async function keepMigrator(
  client: pg.Client,
  admin: string,
  given: readonly string[],
  reconnect: () => Promise<{ end(): Promise<void> }>,
): Promise<void> {
  try {
    await (await reconnect()).end();
  } catch (error) {
    if (!isRefusedLogin(error)) throw error;
    await whilePasswordsStay(client, () => execute(client, TAKE_BACK, [given]));
    throw new LoginError(
      `with rds_iam granted to the logins of the queue this server refuses the password of ${admin} ` +
        `(${(error as Error).message}), so it was taken back: let another administrator make the logins ` +
        `(${given.join(', ')}), or set databaseAuth to "secret"`,
      { cause: error },
    );
  }
}
