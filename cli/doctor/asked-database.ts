import type { Db } from '../../functions/queue/db.ts';
import { SteadyConnection } from '../../functions/queue/steady-connection.ts';
import { sqlFailure } from '../sql-failure.ts';
import type { SqlTarget } from '../target.ts';

export interface Server {
  readonly login: string;
  /** 180004. */
  readonly version: number;
  readonly tls: string | null;
  /** Milliseconds by which its clock is ahead of the one here. */
  readonly aheadMs: number;
}

/** Milliseconds that a statement may take, with the connect. */
const TIMEOUT_MS = 15_000;

const SERVER = `
SELECT
  current_user::text AS login,
  current_setting('server_version_num')::int AS version,
  (SELECT s.version FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()) AS tls,
  extract(epoch FROM clock_timestamp())::float8 * 1000 AS "timeMs"`;

/** One connection, for many who ask at once: their statements follow one another. What fails is a CliError. */
export class AskedDatabase {
  readonly #connection: SteadyConnection;
  readonly #where: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ connect, where }: SqlTarget) {
    this.#connection = new SteadyConnection(connect, () => TIMEOUT_MS);
    this.#where = where;
  }

  async ask<T>(statements: (db: Db) => Promise<T>): Promise<T> {
    const answer = this.#last.then(() => statements(this.#connection));
    this.#last = answer.catch(() => {});
    try {
      return await answer;
    } catch (error) {
      throw sqlFailure(error, 'read', this.#where);
    }
  }

  async server(): Promise<Server> {
    // Twice, for the time: the first has to connect.
    await this.ask((db) => db.query(SERVER));
    const began = Date.now();
    const { rows } = await this.ask((db) => db.query<Server & { timeMs: number }>(SERVER));
    const [{ timeMs, ...server }] = rows as [Server & { timeMs: number }];
    return { ...server, aheadMs: timeMs - (began + Date.now()) / 2 };
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
