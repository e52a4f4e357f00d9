import type { Db } from '../queue/db.ts';
import { scramVerifier } from './scram.ts';

/** Whoever holds it may change how logins log in; its numbers are only ours. */
const LOCK = 'SELECT pg_advisory_xact_lock(7236834, 2)';
/**
 * Names mean what they say whatever the role's search_path is: an administrator must not run what others have put into the
 * schema public. The other holder may be waiting for Secrets Manager.
 */
const BOUNDS = `SET LOCAL search_path = ''; SET LOCAL lock_timeout = '20s'`;

/**
 * Runs in one transaction `work`, during which nobody else sets a password: neither a rotation nor a deploy. Both decide by
 * trying the passwords of a secret, and what one has tried must still be so when it acts.
 */
export async function whilePasswordsStay<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await db.query('BEGIN');
  try {
    await db.query(BOUNDS);
    await db.query(LOCK);
    const result = await work();
    await db.query('COMMIT');
    return result;
  } catch (error) {
    // On a broken connection there is nothing to roll back, and the error to tell is the first.
    await db.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

const SET_PASSWORD = `SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text) AS statement`;

/** Sets the password of a login: one's own, or one that one may alter. The server gets to see no more than its verifier. */
export async function setPassword(db: Db, username: string, password: string): Promise<void> {
  await execute(db, SET_PASSWORD, [username, scramVerifier(password)]);
}

/** Runs the statements that a query has put together: names and texts in them are quoted by the server. */
export async function execute(db: Db, query: string, values: unknown[] = []): Promise<void> {
  const { rows } = await db.query<{ statement: string }>(query, values);
  for (const { statement } of rows) await db.query(statement);
}
