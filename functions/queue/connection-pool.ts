import type { SteadyConnection } from './steady-connection.ts';

/** The connections of a run for its jobs' transactions. A job that finds none free waits, first come first served. */
export class ConnectionPool {
  readonly #make: () => SteadyConnection;
  readonly #all: Set<SteadyConnection>;
  readonly #free: SteadyConnection[];
  readonly #waiting: ((connection: SteadyConnection) => void)[] = [];

  constructor(size: number, make: () => SteadyConnection) {
    this.#make = make;
    this.#free = Array.from({ length: size }, make);
    this.#all = new Set(this.#free);
  }

  /** @throws the signal's reason if it aborts while waiting, which counts against the job's deadline */
  async take(signal: AbortSignal): Promise<SteadyConnection> {
    signal.throwIfAborted();
    if (this.#all.size === 0) throw new Error('this run has no connections for transactions: set `transactions`');
    const connection = this.#free.pop();
    if (connection) return connection;
    return new Promise((resolve, reject) => {
      const given = (connection: SteadyConnection) => {
        signal.removeEventListener('abort', gone);
        resolve(connection);
      };
      const gone = () => {
        this.#waiting.splice(this.#waiting.indexOf(given), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', gone, { once: true });
      this.#waiting.push(given);
    });
  }

  /** One that lies idle, if there is one: nobody waits then. It is to be given back soon. */
  spare(): SteadyConnection | undefined {
    return this.#free.pop();
  }

  give(connection: SteadyConnection): void {
    const next = this.#waiting.shift();
    if (next) next(connection);
    else this.#free.push(connection);
  }

  /** Closes the connection for good, whatever runs on it, and puts a fresh one in its place. */
  replace(connection: SteadyConnection): void {
    this.#all.delete(connection);
    void connection.close();
    const fresh = this.#make();
    this.#all.add(fresh);
    this.give(fresh);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((connection) => connection.close()));
  }
}
