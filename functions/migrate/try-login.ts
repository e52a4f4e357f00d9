import type pg from 'pg';
import type { Credentials } from '../lambda/secret.ts';
import { isRefusedLogin } from '../lambda/with-secret.ts';
import { sqlState } from '../queue/postgres-error.ts';

/** The password was right, but the login may not connect to this database (yet). */
const NO_CONNECT = '42501';

export type LogIn = (credentials: Credentials) => Promise<pg.Client>;

/** Logs in and out again. Resolves what the database said if it lets nobody in with these credentials. */
export async function tryLogin(logIn: LogIn, credentials: Credentials): Promise<Error | undefined> {
  try {
    await (await logIn(credentials)).end();
    return undefined;
  } catch (error) {
    if (isRefusedLogin(error) || sqlState(error) === NO_CONNECT) return error as Error;
    throw error;
  }
}

/** Whether the password was right, as far as what `tryLogin` resolved can tell. */
export function isRight(refusal: Error | undefined): boolean {
  return refusal === undefined || sqlState(refusal) === NO_CONNECT;
}
