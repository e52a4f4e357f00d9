import { backoff } from '../functions/queue/backoff.ts';
import { bytesOf } from '../functions/queue/batch.ts';
import type { Contracts, Processors } from '../functions/queue/contract.ts';
import type { Db } from '../functions/queue/db.ts';
import { decide } from '../functions/queue/decide.ts';
import { MillraceError } from '../functions/queue/errors.ts';
import type { AttemptError, ClaimedJob, JobId } from '../functions/queue/job.ts';
import type { Middleware } from '../functions/queue/middleware.ts';
import { onDeadJobs } from '../functions/queue/on-dead.ts';
import type { Outcome } from '../functions/queue/outcome.ts';
import { type Performable, performableKinds } from '../functions/queue/run-options.ts';
import { sealOutcome, sealResult } from '../functions/queue/seal.ts';
import { sealingOf } from '../functions/queue/sealed-parts.ts';
import { type Settled, type Settlements, settle, type Verdict } from '../functions/queue/settle.ts';
import { unseal } from '../functions/queue/unseal.ts';
import { attempt } from './attempt.ts';
import { claimNext } from './claim-next.ts';
import type { LogLine, ProgressCall } from './recorder.ts';
import { assertTransaction } from './transaction.ts';

export interface DrainOptions<C extends Contracts> {
  readonly contracts: C;
  /** Jobs of a kind that has none stay pending. */
  readonly processors: Partial<Processors<C>>;
  /** What the worker has around its processors, the first outermost. Default none. */
  readonly middleware?: readonly Middleware[];
  /** Also run jobs that are due later, in the order of their time, as if it had come. Default false. */
  readonly future?: boolean;
  /** Also run again what has failed, without its backoff, until it is completed or dead. Default false. */
  readonly retries?: boolean;
  /** Attempts at most, so that a job that enqueues itself ends the test. Default 1,000. */
  readonly limit?: number;
}

export interface DrainedAttempt {
  readonly id: JobId;
  readonly kind: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** `retried`: failed, and pending again. `released`: snoozed. `buried`: failed for good. */
  readonly verdict: Verdict;
  /** What was stored of what the processor returned, opened if its kind has a codec. There only if it is completed. */
  readonly result?: unknown;
  /** What was stored of what it threw, if it failed. */
  readonly error?: AttemptError;
  /** What it threw itself, also a Snooze. */
  readonly thrown?: unknown;
  readonly progress: readonly ProgressCall[];
  readonly log: readonly LogLine[];
}

/** Counts of attempts, and the attempts themselves in the order in which they were made. */
export type Drained = Readonly<Record<Verdict, number>> & { readonly attempts: readonly DrainedAttempt[] };

/** The limit is reached, and there is still something to run. */
export class DrainLimitError extends MillraceError {
  static override readonly name: string = 'DrainLimitError';
  readonly code = 'drain_limit';
}

/**
 * Runs the jobs that were put in since the client's transaction began, one by one, also those that they put in
 * themselves, until none is due. It is the engine that performs and settles them, in the test's own transaction:
 * `ctx.transaction` is a savepoint there. Kinds and queues that are paused stay so.
 * @throws NoTransactionError if none is open
 * @throws DrainLimitError after `limit` attempts: a job enqueues or snoozes itself for ever
 */
export async function drain<C extends Contracts>(client: Db, options: DrainOptions<C>): Promise<Drained> {
  const { contracts, processors, future = false, retries = false, limit = 1000 } = options;
  await assertTransaction(client);
  const kinds = performableKinds({ contracts, processors });
  const attempts: DrainedAttempt[] = [];
  const failed = new Set<JobId>();
  for (;;) {
    const job = await claimNext(client, { kinds, future, retries, failed });
    if (!job) return { ...counted(attempts), attempts };
    if (attempts.length >= limit) {
      throw new DrainLimitError(`after ${limit} attempts a "${job.kind}" is due: does it enqueue or snooze itself?`);
    }
    const one = await run(client, job, kinds.get(job.kind) as Performable, options);
    if (one.verdict === 'retried') failed.add(job.id);
    attempts.push(one);
  }
}

async function run<C extends Contracts>(
  client: Db,
  job: ClaimedJob,
  kind: Performable,
  { contracts, middleware }: DrainOptions<C>,
): Promise<DrainedAttempt> {
  const sealing = sealingOf(job, kind, contracts);
  const seal = (result: unknown) => sealResult(sealing, sealing.kind, result);
  const { outcome, thrown, ...said } = await attempt(job, kind, kind.processor, {
    contracts,
    middleware,
    client,
    seal,
  });
  const written = await sealOutcome(outcome, { kind: sealing.kind, attempts: job.attempts }, sealing);
  const verdict = await settled(client, job, written, { kind, contracts });
  return {
    id: job.id,
    kind: job.kind,
    attempt: job.attempts,
    verdict,
    ...(verdict === 'completed' && { result: await unseal(contracts, await resultOf(client, job.id)) }),
    ...(outcome.kind === 'failed' && { error: outcome.error }),
    ...(thrown !== undefined && { thrown }),
    ...said,
  };
}

async function settled(
  db: Db,
  job: ClaimedJob,
  outcome: Outcome,
  { kind, contracts }: { kind: Performable; contracts: Contracts },
): Promise<Verdict> {
  if (outcome.kind === 'committed') return 'completed';
  const settlement = decide(outcome, job, (count) => backoff(kind.backoff, count));
  if (settlement.kind === 'none') return 'overtaken';
  const one = { job, settlement, bytes: bytesOf(settlement, job.payload), durationMs: 0 };
  const onDead = { jobs: onDeadJobs(contracts), refused: notPutIn };
  const [written] = await undisturbed(db, () => settle(db, [one], onDead));
  return (written as Settled).verdict;
}

function notPutIn({ id, kind }: { id: JobId; kind: string }, reason: string): never {
  throw new Error(`job ${id} ("${kind}") is dead, but the job that its onDead names was not put in: ${reason}`);
}

/** The engine sets how long its statement waits for a lock, for a transaction of its own: this one is the test's. */
async function undisturbed(db: Db, write: () => Promise<Settlements>): Promise<readonly Settled[]> {
  const { rows } = await db.query<{ before: string }>(`SELECT current_setting('lock_timeout') AS before`);
  const { settled } = await write();
  await db.query(`SELECT set_config('lock_timeout', $1, true)`, [rows[0]?.before]);
  return settled;
}

async function resultOf(db: Db, id: JobId): Promise<unknown> {
  const { rows } = await db.query<{ result: unknown }>('SELECT result FROM millrace.finished_jobs WHERE id = $1', [id]);
  return rows[0]?.result;
}

function counted(attempts: readonly DrainedAttempt[]): Record<Verdict, number> {
  const counts = { completed: 0, retried: 0, buried: 0, released: 0, cancelled: 0, overtaken: 0, refused: 0 };
  for (const { verdict } of attempts) counts[verdict]++;
  return counts;
}
