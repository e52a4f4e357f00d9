import { MillraceError } from '../queue/errors.ts';
import { sqlState } from '../queue/postgres-error.ts';

/** The schema is up to date, but a login of the functions could not be made. The message says who has to do what. */
export class LoginError extends MillraceError {
  static override readonly name: string = 'LoginError';
  readonly code = 'login';
}

/** Not allowed to, or of a role that is not there. */
const REFUSALS = ['42501', '42704'];

/** @throws LoginError with that remedy if Postgres does not let the migrator do it; anything else as it comes */
export async function allowed<T>(remedy: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!REFUSALS.includes(sqlState(error) ?? '')) throw error;
    throw new LoginError(`${(error as Error).message}: ${remedy}`, { cause: error });
  }
}
