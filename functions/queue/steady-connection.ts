import type { Answer, Db, QueryRow } from './db.ts';
import { MillraceError } from './errors.ts';
import { faultOf } from './postgres-error.ts';

/** What a run needs of a connection; a `pg` Client is one. */
export interface Connection extends Db {
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * Opens one connection: `async () => { const client = new Client(…); client.on('error', () => {}); await client.connect(); return client; }`.
 * It listens to errors from the start: a server that goes down may say so together with its greeting.
 * Leave out pg's own `query_timeout`: the run watches the time itself, and a job's transaction may take as long as the job.
 * What it rejects with is retried until the run's end, but for refused logins and errors whose `code` is `configuration`.
 */
export type Connect = () => Promise<Connection>;

/** The database did not answer in time. Whether it carried the statement out is not known; the connection is given up. */
export class DatabaseTimeoutError extends MillraceError {
  static override readonly name: string = 'DatabaseTimeoutError';
  readonly code = 'database_timeout';
  /** Milliseconds that it had. */
  readonly timeoutMs: number;
  constructor(timeoutMs: number) {
    super(`the database did not answer within ${Math.round(timeoutMs)} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** The connection broke before the statement was sent. */
export class ConnectionLostError extends MillraceError {
  static override readonly name: string = 'ConnectionLostError';
  readonly code = 'connection_lost';
}

/** The connection behind it, for as long as that one lasts. */
export interface Session extends Db {
  query<Row extends QueryRow>(text: string, values?: unknown[], timeoutMs?: number): Promise<Answer<Row>>;
  broken(): boolean;
}

/** A connection that lay idle longer is replaced before use: proxies and NAT gateways drop quiet ones silently. */
const MAX_IDLE_MS = 60_000;
/** Saying goodbye is a courtesy to the server; the socket is gone either way. */
const GOODBYE_MS = 200;

/**
 * One connection, opened when first needed and again after it broke. Used by one party at a time.
 * Every statement has a deadline, `timeoutMs()` as it starts; after it the connection is closed and the statement rejects
 * with DatabaseTimeoutError, its fate unknown.
 */
export class SteadyConnection implements Db {
  readonly #connect: Connect;
  readonly #timeoutMs: () => number;
  #connection: Connection | undefined;
  #usedAt = 0;
  #closed = false;

  constructor(connect: Connect, timeoutMs: () => number) {
    this.#connect = connect;
    this.#timeoutMs = timeoutMs;
  }

  async query<Row extends QueryRow>(text: string, values?: unknown[]): Promise<Answer<Row>> {
    return (await this.session()).query<Row>(text, values);
  }

  /**
   * The connection as it is now, for what must not go on over another one, as a transaction: when it breaks, every later
   * query of the session is refused.
   */
  async session(): Promise<Session> {
    const connection = this.#usable() ?? (await this.#open());
    return {
      query: (text, values, timeoutMs) => this.#query(connection, text, values, timeoutMs),
      broken: () => this.#connection !== connection,
    };
  }

  async #query<Row extends QueryRow>(
    connection: Connection,
    text: string,
    values?: unknown[],
    timeoutMs = this.#timeoutMs(),
  ): Promise<Answer<Row>> {
    if (this.#connection !== connection) throw new ConnectionLostError('the connection to the database is gone');
    try {
      return await within(timeoutMs, connection.query<Row>(text, values));
    } catch (error) {
      if (faultOf(error) === 'lost') this.#giveUp(connection);
      throw error;
    } finally {
      this.#usedAt = Date.now();
    }
  }

  /** For good: closes the connection, whatever runs on it (the server rolls back), and refuses every later query. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) await goodbye(connection);
  }

  #usable(): Connection | undefined {
    const connection = this.#connection;
    // The wall clock: it has gone on when a frozen sandbox thaws or a laptop wakes.
    if (connection && Math.abs(Date.now() - this.#usedAt) > MAX_IDLE_MS) this.#giveUp(connection);
    return this.#connection;
  }

  async #open(): Promise<Connection> {
    this.#refuseIfClosed();
    const opening = this.#connect();
    try {
      const connection = await within(this.#timeoutMs(), opening);
      this.#refuseIfClosed();
      connection.on('error', () => this.#giveUp(connection));
      this.#connection = connection;
      this.#usedAt = Date.now();
      return connection;
    } catch (error) {
      // It may still come about after its time: then nobody wants it.
      opening.then(discard, () => {});
      throw error;
    }
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new ConnectionLostError('the connection is closed for good');
  }

  #giveUp(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined;
    void goodbye(connection);
  }
}

function discard(connection: Connection): void {
  connection.on('error', () => {});
  void goodbye(connection);
}

/** pg's `end` destroys the socket at once if a statement is running, else it waits for the server, which may be gone. */
async function goodbye(connection: Connection): Promise<void> {
  await within(GOODBYE_MS, connection.end()).catch(() => {});
}

/** `promise`, or DatabaseTimeoutError after `ms` (Infinity: no limit). A late answer, good or bad, is dropped. */
function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  if (ms === Infinity) return promise;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DatabaseTimeoutError(ms)), ms);
    const stop = () => clearTimeout(timer);
    promise.finally(stop).then(resolve, reject);
  });
}
