import { ConnectionPool } from '../functions/queue/connection-pool.ts';
import type { Contract, Contracts } from '../functions/queue/contract.ts';
import type { Db } from '../functions/queue/db.ts';
import type { ClaimedJob } from '../functions/queue/job.ts';
import type { Middleware } from '../functions/queue/middleware.ts';
import type { Outcome } from '../functions/queue/outcome.ts';
import { PayloadError } from '../functions/queue/payload.ts';
import { type Processor, perform } from '../functions/queue/perform.ts';
import { SteadyConnection } from '../functions/queue/steady-connection.ts';
import { Stopper } from '../functions/queue/stopper.ts';
import { JobTransaction } from '../functions/queue/transaction.ts';
import { type Frame, JobConnection } from './job-connection.ts';
import { type LogLine, type ProgressCall, Recorder } from './recorder.ts';
import { keep, SET } from './transaction.ts';

export interface Attempted {
  readonly outcome: Outcome;
  /** What came out of the processor and its middleware, if they threw. */
  readonly thrown: unknown;
  readonly log: readonly LogLine[];
  readonly progress: readonly ProgressCall[];
}

export interface AttemptOptions {
  readonly contracts: Contracts;
  readonly middleware?: readonly Middleware[] | undefined;
  /** How a result of `ctx.transaction` is stored. Default as it is. */
  readonly seal?: (result: unknown) => Promise<unknown>;
  /** With a transaction open; without a client, `ctx.transaction` is refused. */
  readonly client: Db | undefined;
  readonly frame?: Frame | undefined;
  readonly stopper?: Stopper;
}

/**
 * One attempt as the engine makes it. In a savepoint, since a processor may know the test's client: a statement of it that
 * fails outside of `ctx.transaction` would end the test's transaction. So it undoes what the attempt has written there.
 */
export async function attempt(
  job: ClaimedJob,
  contract: Contract,
  processor: Processor,
  { contracts, middleware = [], client, frame, seal, stopper = new Stopper() }: AttemptOptions,
): Promise<Attempted> {
  const recorder = new Recorder();
  const connection = client && new JobConnection(client, frame);
  const transaction = new JobTransaction(job, poolOf(connection), new AbortController().signal, seal);
  let thrown: unknown;
  const watched: Middleware = async (_job, next) => {
    try {
      return await next();
    } catch (error) {
      if (!(error instanceof PayloadError)) thrown = error;
      throw error;
    }
  };
  await client?.query(SET);
  const outcome = await perform(job, contract, processor, {
    contracts,
    middleware: [watched, ...middleware],
    stopper,
    transaction,
    progress: recorder.progress.of(job),
    log: recorder.log,
    where: 'millrace/testing',
  });
  await connection?.end();
  const kept = client === undefined || (await keep(client));
  if (!kept && outcome.kind === 'committed') {
    throw new Error(`"${job.kind}" sent a statement that failed over the test's client, behind its ctx.transaction`);
  }
  return { outcome, thrown, log: recorder.lines, progress: recorder.progress.calls };
}

function poolOf(connection: JobConnection | undefined): ConnectionPool {
  if (connection === undefined) return new NoPool(0, noConnection);
  return new ConnectionPool(
    1,
    () =>
      new SteadyConnection(
        async () => connection,
        () => Infinity,
      ),
  );
}

function noConnection(): never {
  throw new Error('ctx.transaction needs a database: give runProcessor a `client` that has a transaction open');
}

class NoPool extends ConnectionPool {
  override take = async () => noConnection();
}
