import type pg from 'pg';
import { loginWith } from '../lambda/connect.ts';
import type { DatabasePlace } from '../lambda/env.ts';
import { type Credentials, type ReadSecret, secretReader } from '../lambda/secret.ts';
import { execute, setPassword, whilePasswordsStay } from '../lambda/set-password.ts';
import { allowed, LoginError } from './login-error.ts';
import { adminOf } from './queue-roles.ts';
import { isRight, type LogIn, tryLogin } from './try-login.ts';

/** Names that need no quotes anywhere, and are not kept for Postgres itself. */
const USERNAME = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

/**
 * `mighty`: it is, or is a member of, a role that rules over others or over this schema. `group`: it has members, who would get
 * every right that it gets; who made a login counts as its member from Postgres 16 on.
 */
const FIND = `
  SELECT
    EXISTS (
      SELECT
      FROM pg_roles r
      WHERE pg_has_role(login.oid, r.oid, 'MEMBER')
        AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls OR r.rolname = 'rds_superuser'
             OR r.rolname = current_user OR r.oid = (SELECT nspowner FROM pg_namespace WHERE nspname = 'millrace'))
    ) AS mighty,
    login.rolname = ANY (millrace.role_names()) OR EXISTS (
      SELECT
      FROM pg_auth_members m
      JOIN pg_roles r ON r.oid = m.member
      WHERE m.roleid = login.oid AND NOT (r.rolsuper OR r.rolcreaterole OR r.rolname = current_user)
    ) AS "group"
  FROM pg_roles login
  WHERE login.rolname = $1`;
const CREATE = `SELECT format('CREATE ROLE %I', $1::text) AS statement`;
const ALLOW_LOGIN = `
  SELECT format('ALTER ROLE %I LOGIN INHERIT', rolname) AS statement
  FROM pg_roles
  WHERE rolname = $1
    AND NOT (rolcanlogin AND rolinherit)`;
/** From Postgres 16 on each membership says for itself whether it is of any use without SET ROLE. */
const JOIN = `
  SELECT format(
    'GRANT %I TO %I' || CASE WHEN current_setting('server_version_num')::int >= 160000 THEN ' WITH INHERIT TRUE' ELSE '' END,
    role, $1::text) AS statement
  FROM unnest(millrace.role_names()) AS role
  WHERE NOT pg_has_role($1, role, 'USAGE')`;
const SET_TIMEOUTS = 'SELECT millrace.set_timeouts($1)';

export interface MadeLogin {
  readonly login: string;
  /** `kept`: the database takes the password of the secret, current or pending. */
  readonly password: 'set' | 'kept';
}

/**
 * Makes the login whose name and password a secret holds, or brings it to what it has to be: a member of every role of the
 * queue, with the worker's timeouts. Does nothing to a login that is so already.
 *
 * Its password is set only if the database takes neither the current nor the pending one. A rotation that is under way has set
 * the pending one or is about to; it cannot in the meantime, since both hold one lock, and the secret is read under it.
 *
 * @param place where `client` is connected to
 * @throws LoginError
 */
export async function makeLogin(client: pg.Client, arn: string, place: DatabasePlace): Promise<MadeLogin> {
  const read = secretReader(arn, place);
  const logIn = loginWith(place, 'migrate');
  const admin = await adminOf(client);
  const current = async () => (await read('AWSCURRENT')) as Credentials;
  const made = await whilePasswordsStay(client, async (): Promise<MadeLogin> => {
    const { username: login } = await current();
    const isNew = await makeRole(client, login, admin, arn);
    const known = !isNew && isRight(await refusalOf(read, logIn));
    await allowed(
      `let a superuser run GRANT ${login} TO ${admin} WITH ADMIN OPTION, or DROP ROLE ${login}`,
      async () => {
        if (!known) await setPassword(client, login, (await current()).password);
        await execute(client, ALLOW_LOGIN, [login]);
        await client.query(SET_TIMEOUTS, [login]);
      },
    );
    await allowed(
      `let a superuser GRANT the roles of the queue (SELECT millrace.role_names()) TO ${admin} WITH ADMIN OPTION`,
      () => execute(client, JOIN, [login]),
    );
    return { login, password: known ? 'kept' : 'set' };
  });
  // What the deploy has made is tried before functions depend on it.
  const refusal = await refusalOf(read, logIn);
  if (refusal === undefined) return made;
  throw new LoginError(`${made.login} was made, but cannot log in: ${refusal.message}`, { cause: refusal });
}

/** Resolves whether it was not there before. */
async function makeRole(client: pg.Client, login: string, admin: string, arn: string): Promise<boolean> {
  if (!USERNAME.test(login)) {
    throw new LoginError(
      `the username in the secret ${arn} must be of a-z, 0-9 and _, begin with no digit and not with pg_, and have 63 characters at most`,
    );
  }
  const [found] = (await client.query<{ mighty: boolean; group: boolean }>(FIND, [login])).rows;
  if (found?.mighty) {
    throw new LoginError(
      `the secret ${arn} names ${login}, which may do more than functions should: give them a login of their own`,
    );
  }
  if (found?.group) {
    throw new LoginError(
      `the secret ${arn} names ${login}, a role for others to be members of, who would get every right of the queue: ` +
        'give the functions a login of their own',
    );
  }
  if (found !== undefined) return false;
  await allowed(`let a superuser run: ALTER ROLE ${admin} CREATEROLE`, () => execute(client, CREATE, [login]));
  return true;
}

/**
 * What the database says to a secret of which it takes neither version. A rotation may end between two of the tries: what was
 * pending, and lost that label, is current at the last.
 */
async function refusalOf(read: ReadSecret, logIn: LogIn): Promise<Error | undefined> {
  let refusal: Error | undefined;
  for (const stage of ['AWSCURRENT', 'AWSPENDING', 'AWSCURRENT'] as const) {
    const credentials = await read(stage);
    if (credentials === undefined) continue;
    refusal = await tryLogin(logIn, credentials);
    if (isRight(refusal)) break;
  }
  return refusal;
}
