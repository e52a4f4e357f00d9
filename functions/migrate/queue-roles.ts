import type pg from 'pg';
import { allowed, LoginError } from './login-error.ts';

const ADMIN = 'SELECT current_user::text AS name';
const MAKE = 'SELECT millrace.grant_roles()';
/** With its schema each, since a function in the schema public may fit a name better than the one that is meant. */
const MISSING = `
  SELECT role
  FROM pg_catalog.unnest(millrace.role_names()) AS role
  WHERE pg_catalog.to_regrole(role::text) IS NULL`;

/** The login that migrates. */
export async function adminOf(client: pg.Client): Promise<string> {
  return (await client.query<{ name: string }>(ADMIN)).rows[0]?.name as string;
}

/**
 * Sees to it that the roles of the queue are there: a migrator that was not allowed to make them may be so now.
 * @throws LoginError if some are missing still
 */
export async function ensureRoles(client: pg.Client): Promise<void> {
  const admin = await adminOf(client);
  await allowed(`let a superuser run: ALTER ROLE ${admin} CREATEROLE`, () => client.query(MAKE));
  const { rows } = await client.query<{ role: string }>(MISSING);
  if (rows.length === 0) return;
  throw new LoginError(
    `the roles ${rows.map(({ role }) => role).join(', ')} do not exist, and ${admin} may not make them: ` +
      `let a superuser run ALTER ROLE ${admin} CREATEROLE, then deploy again`,
  );
}
