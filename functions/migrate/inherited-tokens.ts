/**
 * Members of a role have what it has. Of rds_iam that means: who is a member of a role that logs in by token needs one too, and
 * the database takes their password no longer. So on one server there is a token for all of the queue or for nobody.
 */
import type pg from 'pg';
import { LoginError } from './login-error.ts';

/** Logins that these roles would give rds_iam to, and that have it by no other way. Of superusers no server asks a token. */
const SHUT_OUT = `
  SELECT m.rolname AS login
  FROM pg_roles m
  WHERE m.rolcanlogin AND NOT m.rolsuper AND m.rolname <> current_user
    AND m.rolname <> ALL (millrace.role_names())
    AND NOT pg_has_role(m.oid, 'rds_iam', 'MEMBER')
    AND EXISTS (SELECT FROM unnest($1::name[]) AS role WHERE pg_has_role(m.oid, role, 'MEMBER'))
  ORDER BY 1`;
const BY_TOKEN = `
  SELECT role
  FROM unnest(millrace.role_names()) AS role
  WHERE pg_has_role(role, to_regrole('rds_iam'), 'MEMBER')`;

/** @throws LoginError if somebody who logs in with a password is a member of one of these roles, which are to log in by token */
export async function refusePasswordsOf(client: pg.Client, roles: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ login: string }>(SHUT_OUT, [roles]);
  if (rows.length === 0) return;
  throw new LoginError(
    `the database would no longer take the passwords of ${rows.map(({ login }) => login).join(', ')}, members of roles that ` +
      'are to log in by IAM: take the roles of the queue from them (REVOKE), or GRANT rds_iam to them if they log in by ' +
      'token, then deploy again',
  );
}

/** @throws LoginError if a role of the queue logs in by token: no member of it could log in with a password */
export async function refuseTokensFor(client: pg.Client, login: string): Promise<void> {
  const { rows } = await client.query<{ role: string }>(BY_TOKEN);
  if (rows.length === 0) return;
  const roles = rows.map(({ role }) => role).join(', ');
  throw new LoginError(
    `the roles ${roles} log in by IAM on this server, and ${login} as their member could not log in with a password: set ` +
      `databaseAuth to "iam", or let an administrator REVOKE rds_iam FROM ${roles} if no queue of this server needs it`,
  );
}
