import type { Answer, Db, QueryRow } from '../functions/queue/db.ts';
import type { Connection } from '../functions/queue/steady-connection.ts';
import { keep, SET, undo } from './transaction.ts';

/** What is done of its own at the beginning of the job's transaction, and before its end. */
export interface Frame {
  begun(): Promise<void>;
  ending(): Promise<void>;
}

/**
 * What the engine takes for a connection of its own to run `ctx.transaction` on: the test's client, with a savepoint
 * where the worker has a transaction. As there, one in which a statement has failed answers COMMIT with ROLLBACK.
 */
export class JobConnection implements Connection {
  readonly #client: Db;
  readonly #frame: Frame | undefined;
  #open = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(client: Db, frame?: Frame) {
    this.#client = client;
    this.#frame = frame;
  }

  async query<Row extends QueryRow>(text: string, values?: unknown[]): Promise<Answer<Row>> {
    switch (text) {
      case 'BEGIN':
        await this.#client.query(SET);
        this.#open = true;
        await this.#frame?.begun();
        return answered('BEGIN');
      case 'COMMIT':
        await this.#frame?.ending();
        this.#open = false;
        return answered((await keep(this.#client)) ? 'COMMIT' : 'ROLLBACK');
      case 'ROLLBACK':
        await this.end();
        return answered('ROLLBACK');
      default:
        return this.#client.query<Row>(text, values);
    }
  }

  on(): this {
    return this;
  }

  /** The client is the test's: only what the job has open on it ends. Resolves when that is done, whoever asked first. */
  end(): Promise<void> {
    if (this.#open) {
      this.#open = false;
      this.#ended = undo(this.#client);
    }
    return this.#ended;
  }
}

function answered(command: string): Answer<never> {
  return { rows: [], rowCount: null, command };
}
