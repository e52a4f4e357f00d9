import { setTimeout as sleep } from 'node:timers/promises';
import { reconnectDelay } from './backoff.ts';
import { commit } from './commit.ts';
import { complete } from './complete.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Db, QueryRow } from './db.ts';
import { ClaimLostError, TransactionUsedError } from './errors.ts';
import type { Claim } from './job.ts';
import { faultOf } from './postgres-error.ts';
import { keptResult } from './result.ts';
import type { Session, SteadyConnection } from './steady-connection.ts';

/** What is known of an attempt's transaction. `unknown`: the COMMIT was sent, and the database could not be asked since. */
export type TransactionState = 'unused' | 'open' | 'committing' | 'committed' | 'rolled back' | 'lost' | 'unknown';

/**
 * One attempt's `ctx.transaction`: the processor's writes and the job's completion commit together or not at all.
 * Once only: the fenced completion is its last statement.
 */
export class JobTransaction {
  state: TransactionState = 'unused';
  readonly #claim: Claim;
  readonly #pool: ConnectionPool;
  readonly #patience: AbortSignal;
  readonly #seal: (result: unknown) => unknown;
  #over = OVER;
  #giveUp: ((reason: Error) => void) | undefined;
  #closed = false;

  /** `seal`: what is stored of the result (seal.ts). Default: the result. */
  constructor(
    claim: Claim,
    pool: ConnectionPool,
    patience: AbortSignal,
    seal: (result: unknown) => unknown = (result) => result,
  ) {
    this.#seal = seal;
    this.#claim = claim;
    this.#pool = pool;
    this.#patience = patience;
  }

  run<Result>(fn: (tx: Db) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const why = this.#whyNot();
    if (why !== undefined) return handled(Promise.reject(new TransactionUsedError(why)));
    this.state = 'open';
    const run = this.#run(fn, signal);
    this.#over = run;
    return handled(run);
  }

  #whyNot(): string | undefined {
    if (this.state !== 'unused') return 'ctx.transaction is the completion of the job: call it once an attempt';
    // The job may be completed by now, so this one's writes would come behind it, and be lost if the process died.
    return this.#closed ? 'the attempt is over: call and await ctx.transaction within the processor' : undefined;
  }

  /** The processor has begun it, and it has not ended yet. */
  get isRunning(): boolean {
    return this.state === 'open' || this.state === 'committing';
  }

  /** To be called when the processor has ended: from then on no transaction begins. */
  close(): void {
    this.#closed = true;
  }

  /** Closes, and waits for a transaction that still runs. Rejects with its error; resolves at once if none runs. */
  ended(): Promise<unknown> {
    this.close();
    return this.isRunning ? this.#over : OVER;
  }

  /** The attempt was given up: what of it is not at its COMMIT is rolled back by closing its connection. */
  abandon(): void {
    if (this.state !== 'open') return;
    // At once, so that a completion which is answered in this very moment finds it and does not commit.
    this.state = 'rolled back';
    this.#giveUp?.(new ClaimLostError('the attempt was given up'));
  }

  async #run<Result>(fn: (tx: Db) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const abandoned = handled(
      new Promise<never>((_, reject) => {
        this.#giveUp = reject;
      }),
    );
    try {
      const connection = await this.#pool.take(signal);
      let ended = false;
      const attempt = this.#on(connection, fn, signal).finally(() => {
        ended = true;
      });
      try {
        return await Promise.race([attempt, abandoned]);
      } finally {
        // An abandoned `fn` may still come back to its connection, so nobody else gets that one.
        if (ended) this.#pool.give(connection);
        else this.#pool.replace(connection);
      }
    } catch (error) {
      if (this.state === 'open') this.state = 'rolled back';
      throw error;
    }
  }

  async #on<Result>(
    connection: SteadyConnection,
    fn: (tx: Db) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const session = await begin(connection, signal);
    try {
      const result = await fn(this.#inside(session));
      const kept = await this.#seal(keptResult(result));
      const accepted = await complete(session, [{ ...this.#claim, result: kept }]);
      if (accepted.length === 0) throw this.#lost();
      if (this.state !== 'open') throw new ClaimLostError('the attempt was given up');
      await this.#commit(session, connection);
      return result;
    } catch (error) {
      if (!session.broken()) await session.query('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  async #commit(session: Session, connection: SteadyConnection): Promise<void> {
    this.state = 'committing';
    const { fate, error } = await commit(session, connection, this.#claim, this.#patience);
    this.state = fate;
    if (fate !== 'committed') throw error;
  }

  #lost(): ClaimLostError {
    this.state = 'lost';
    return new ClaimLostError('the job was taken by somebody else meanwhile; its transaction is rolled back');
  }

  /** What `fn` is given. Its statements may take as long as the job: giving the attempt up closes their connection. */
  #inside(session: Session): Db {
    return {
      query: async <Row extends QueryRow>(text: string, values?: unknown[]) => {
        if (this.state !== 'open') throw new Error('the transaction is over: await every query within its function');
        const control = controlIn(text);
        if (control !== undefined) {
          throw new Error(
            `ctx.transaction begins and ends its transaction itself, so not "${control}"; savepoints are fine`,
          );
        }
        return session.query<Row>(text, values, Infinity);
      },
    };
  }
}

const OVER: Promise<unknown> = Promise.resolve();

/** Literals, quoted names, dollar quotes and comments: what they hold is no statement. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\1\$|--[^\n]*|\/\*.*?\*\//gs;

/** At the beginning of a statement; what is left of a comment within a comment may stand before it. */
const CONTROL =
  /(?:^|;)[\s*/]*\b((?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b[^;]*)/i;

/** The statement, of one or several, that would begin or end a transaction. Clients also take `{ text }` for a query. */
function controlIn(query: string | { readonly text?: unknown }): string | undefined {
  const text = typeof query === 'string' ? query : String(query?.text ?? '');
  return CONTROL.exec(text.replace(OPAQUE, ' '))?.[1]?.trim().slice(0, 40);
}

/** Nothing hangs on a BEGIN, so it is repeated until it gets through or the attempt is stopped. */
async function begin(connection: SteadyConnection, signal: AbortSignal): Promise<Session> {
  for (let failures = 1; ; failures++) {
    try {
      const session = await connection.session();
      await session.query('BEGIN');
      return session;
    } catch (error) {
      signal.throwIfAborted();
      if (faultOf(error) !== 'lost') throw error;
      await sleep(reconnectDelay(failures), undefined, { signal }).catch(() => {});
    }
  }
}

/** Marks a promise as looked after: a processor that does not await it must not take the process with it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
