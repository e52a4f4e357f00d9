import type pg from 'pg';
import { execute, whilePasswordsStay } from '../lambda/set-password.ts';
import { isRefusedLogin } from '../lambda/with-secret.ts';
import { refusePasswordsOf } from './inherited-tokens.ts';
import { allowed, LoginError } from './login-error.ts';
import { adminOf } from './queue-roles.ts';

const IS_RDS = `SELECT to_regrole('rds_iam') IS NOT NULL AS yes`;
const ALLOW_LOGIN = `
  SELECT format('ALTER ROLE %I LOGIN', rolname) AS statement
  FROM pg_roles
  WHERE rolname = ANY (millrace.role_names())
    AND NOT rolcanlogin`;
/** Whoever has rds_iam logs in by token alone. */
const GIVE = `
  SELECT format('GRANT rds_iam TO %I', role) AS statement
  FROM unnest($1::name[]) AS role`;
const WITHOUT = `
  SELECT role
  FROM unnest(millrace.role_names()) AS role
  WHERE NOT pg_has_role(role, 'rds_iam', 'MEMBER')`;
const TAKE_BACK = `
  SELECT format('REVOKE rds_iam FROM %I', role) AS statement
  FROM unnest($1::name[]) AS role`;

/**
 * Makes each role of the queue a login by IAM. Does nothing to those that are one already.
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

/** Resolves the roles that had no rds_iam before. */
async function letInByToken(client: pg.Client, admin: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ yes: boolean }>(IS_RDS);
  if (rows[0]?.yes !== true) {
    throw new LoginError(
      'this database has no role rds_iam, so it is none of RDS or Aurora: set databaseAuth to "secret" to log in with passwords',
    );
  }
  const without = (await client.query<{ role: string }>(WITHOUT)).rows.map(({ role }) => role);
  await refusePasswordsOf(client, without);
  await allowed(
    `let an administrator GRANT the roles of the queue (SELECT millrace.role_names()) and rds_iam TO ${admin} WITH ADMIN OPTION`,
    async () => {
      await execute(client, ALLOW_LOGIN);
      await execute(client, GIVE, [without]);
    },
  );
  return without;
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
      `with rds_iam granted to the roles of the queue this server refuses the password of ${admin} ` +
        `(${(error as Error).message}), so it was taken back: let another administrator make the roles, ` +
        'or set databaseAuth to "secret"',
      { cause: error },
    );
  }
}
