import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { type Database, openPool } from './database.ts';
import { test as base } from './fixtures.ts';

export interface Login {
  readonly name: string;
  readonly url: string;
  readonly pool: pg.Pool;
  /** Before the database is dropped. */
  drop(): Promise<void>;
}

export const ROLES = ['producer', 'reader', 'worker', 'reaper', 'operator'] as const;
export type DatabaseRole = (typeof ROLES)[number];

/** A login of its own that owns nothing and is a member of these roles. Roles are the server's, so no test logs in as one of them. */
export async function createLogin({ url, pool: owner }: Database, ...roles: readonly DatabaseRole[]): Promise<Login> {
  const name = `millrace_login_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await owner.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
  for (const role of roles) await owner.query(`GRANT millrace_${role} TO ${name}`);
  const own = new URL(url);
  own.username = name;
  own.password = password;
  const pool = openPool(own.href, 4);
  return {
    name,
    url: own.href,
    pool,
    drop: async () => {
      await pool.end();
      await owner.query(`DROP OWNED BY ${name}`);
      await owner.query(`DROP ROLE ${name}`);
    },
  };
}

/** `loginAs`: makes a login on the database `own`, which goes with the test. */
export const test = base.extend('loginAs', async ({ own }, { onCleanup }) => {
  const logins: Login[] = [];
  onCleanup(async () => {
    for (const login of logins) await login.drop();
  });
  return async (...roles: readonly DatabaseRole[]): Promise<Login> => {
    const login = await createLogin(own, ...roles);
    logins.push(login);
    return login;
  };
});
