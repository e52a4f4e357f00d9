import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryResultRow } from 'pg';
import { reconnectDelay } from '../queue/backoff.ts';
import type { Answer, Db } from '../queue/db.ts';
import { MillraceError } from '../queue/errors.ts';
import { faultOf, sqlState } from '../queue/postgres-error.ts';
import { SteadyConnection } from '../queue/steady-connection.ts';
import { ConfigurationError } from './configuration-error.ts';
import { connector } from './connect.ts';
import type { DatabaseEnv } from './env.ts';

/** The database could not be reached, or did not answer; `cause` says how. Without one the statement was never sent. */
export class DatabaseUnavailableError extends MillraceError {
  static override readonly name: string = 'DatabaseUnavailableError';
  readonly code = 'database_unavailable';
}

/** Milliseconds. */
const QUERY_TIMEOUT_MS = 10_000;
/** Milliseconds that a statement waits for those before it. */
const WAIT_MS = 5000;

/**
 * The one connection of a function that serves requests: opened when needed, replaced when it broke or lay idle for a
 * minute (a frozen sandbox keeps dead sockets). Statements follow one another; each has 10 s.
 */
export class Database implements Db {
  readonly #open: () => SteadyConnection;
  #connection: SteadyConnection;
  #last: Promise<unknown> = Promise.resolve();

  constructor(env: DatabaseEnv, name: string) {
    const connect = connector(env, name);
    this.#open = () => new SteadyConnection(connect, () => QUERY_TIMEOUT_MS);
    this.#connection = this.#open();
  }

  /** @throws DatabaseUnavailableError if there was no answer; what Postgres itself says comes as it is, with its SQLSTATE */
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<Answer<Row>> {
    const connection = this.#connection;
    const latest = performance.now() + WAIT_MS;
    const answer = this.#last.then(async () => {
      if (performance.now() > latest) throw new DatabaseUnavailableError('the connection was busy for too long');
      return await connection.query<Row>(text, values).catch(unavailable);
    });
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** Leaves the connection to whatever still runs on it: the next statement opens another. */
  reset(): void {
    void this.#connection.close();
    this.#connection = this.#open();
    this.#last = Promise.resolve();
  }

  async end(): Promise<void> {
    await this.#connection.close();
  }
}

function unavailable(error: unknown): never {
  const isOurs = sqlState(error) !== undefined || error instanceof ConfigurationError || faultOf(error) !== 'lost';
  if (isOurs) throw error;
  throw new DatabaseUnavailableError('the database does not answer', { cause: error });
}

/**
 * Runs statements that are harmless to repeat, once more if the connection got lost under them: what a thawed sandbox
 * or a failover leaves behind is mended before anybody sees it. A server that itself says no (full, going down, starting
 * up, read-only) is asked again a moment later, each at another one: all functions hear it at once.
 */
export async function resent<T>(statements: () => Promise<T>): Promise<T> {
  try {
    return await statements();
  } catch (error) {
    if (faultOf(error) !== 'lost' || error instanceof ConfigurationError) throw error;
    if (sqlState(error) !== undefined) await sleep(reconnectDelay(1));
    return await statements();
  }
}
