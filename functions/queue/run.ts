import { hostname } from 'node:os';
import { Attempts } from './attempts.ts';
import { backoff } from './backoff.ts';
import { Bell } from './bell.ts';
import { Broker } from './broker.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { MillraceError } from './errors.ts';
import type { Emit } from './events.ts';
import { firingOf } from './firing.ts';
import { DRAIN_MARGIN_SECONDS, kindsThatFit } from './fits.ts';
import { InFlight } from './in-flight.ts';
import { inTurn } from './in-turn.ts';
import { JobSeconds } from './job-seconds.ts';
import { type OnDead, onDeadJobs } from './on-dead.ts';
import { perform } from './perform.ts';
import { persist } from './persist.ts';
import { nextPhase } from './phase.ts';
import { failureEvent } from './postgres-error.ts';
import { Presence } from './presence.ts';
import { ProgressBoard } from './progress-board.ts';
import { RunClock } from './run-clock.ts';
import { checkOptions, type Performable, performableKinds, type RunOptions, servedQueues } from './run-options.ts';
import { sealOutcome, sealResult } from './seal.ts';
import { sealingOf } from './sealed-parts.ts';
import { Settler } from './settler.ts';
import { DatabaseTimeoutError, SteadyConnection } from './steady-connection.ts';
import { Supply } from './supply.ts';
import { type RunSummary, Tally } from './tally.ts';
import { JobTransaction } from './transaction.ts';
import { Watcher } from './watcher.ts';

export type { RunOptions } from './run-options.ts';
export type { Connect, Connection } from './steady-connection.ts';
export type { RunSummary } from './tally.ts';

/** The run ended because of the database, not of a job. `summary` is what it did until then, `cause` what the database said. */
export class RunFailedError extends MillraceError {
  static override readonly name: string = 'RunFailedError';
  readonly code = 'run_failed';
  readonly summary: RunSummary;
  constructor(summary: RunSummary, cause: unknown) {
    super(`the run ended with the database failing: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.summary = summary;
  }
}

/**
 * Works: claims jobs, performs them and settles them until its time is up, it is told to drain, or nothing is left to do
 * (`reason` in the summary). Any number of runs may go on at once, in one process or many.
 * @throws RunFailedError if the database failed to the end or refuses for good; never for a job
 */
export async function run<C extends Contracts>(options: RunOptions<C>): Promise<RunSummary> {
  checkOptions(options);
  const clock = new RunClock(options.remainingMs, options.statementSeconds);
  const own = new SteadyConnection(options.connect, clock.statementMs);
  const db = inTurn(own);
  const pool = new ConnectionPool(options.transactions, () => new SteadyConnection(options.connect, clock.statementMs));
  const emit = guarded(options);
  const tally = new Tally(emit);
  const { attempts, begin, broker, presence, settler, supply } = assembled(options, { clock, db, pool, tally, emit });

  const drained = new AbortController();
  const drain = (why: string) => {
    drained.abort();
    attempts.drain(why);
  };
  clock.onDrainMargin(() => drain('the run is near its deadline'));
  const drainNow = () => {
    clock.drainNow();
    drain('the worker shuts down');
  };
  if (options.signal?.aborted) drainNow();
  options.signal?.addEventListener('abort', drainNow, { once: true });
  try {
    const begun = await begin(drained.signal).catch((error: unknown) => {
      throw new RunFailedError(tally.summary('failed', Math.round(clock.elapsedMs)), error);
    });
    if (begun !== 'take') return tally.summary(begun, Math.round(clock.elapsedMs));
    const { reason, failure: failed } = await broker.run();
    await settler.stop();
    const failure = failed ?? settler.failure;
    const recovered = !clock.end.aborted && (await leave({ supply, presence }, db)) && reason !== 'failed';
    const summary = tally.summary(reason, Math.round(clock.elapsedMs));
    if (attempts.draining) emit({ name: 'run.drained', released: summary.released });
    if (failure !== undefined && !recovered) throw new RunFailedError(summary, failure);
    return summary;
  } finally {
    options.signal?.removeEventListener('abort', drainNow);
    clock.stop();
    await Promise.all([own.close(), pool.close()]);
  }
}

/** What a run leaves behind is a help to the next, which does without if need be. Resolves whether the database took it. */
async function leave({ supply, presence }: Pick<Assembled, 'supply' | 'presence'>, db: Db) {
  const cleared = await took(presence?.clear(db));
  return (await took(supply.leave(db))) && cleared;
}

async function took(answer: Promise<void> | undefined): Promise<boolean> {
  return Promise.resolve(answer).then(
    () => true,
    () => false,
  );
}

type Assembled = ReturnType<typeof assembled<Contracts>>;

interface Parts {
  readonly clock: RunClock;
  readonly db: Db;
  readonly pool: ConnectionPool;
  readonly tally: Tally;
  readonly emit: Emit;
}

function assembled<C extends Contracts>(options: RunOptions<C>, { clock, db, pool, tally, emit }: Parts) {
  const kinds = performableKinds(options);
  const kindOf = (kind: string) => kinds.get(kind) as Performable;
  const fitting = (remainingMs: number) => kindsThatFit(kinds, remainingMs, options.leaseMarginSeconds);
  const bell = new Bell();
  const inFlight = new InFlight();
  const board = new ProgressBoard(bell);
  const where = options.where ?? `${hostname()}:${process.pid}`;
  // A kind that takes longer than the whole run is none of its kinds: nobody may believe that it is claimed here.
  const lanes = { queues: servedQueues(options), kinds: fitting(clock.remainingMs) };
  const supply = new Supply(lanes.queues, lanes.kinds, emit, () => {
    const spare = pool.spare();
    const giveBack = (of: SteadyConnection) => {
      pool.give(of);
      bell.ring();
    };
    return spare && { db: spare, giveBack: () => giveBack(spare) };
  });
  const jobSeconds = new JobSeconds();
  const shortestMs = Math.min(...[...kinds.values()].map(({ timeoutSeconds }) => timeoutSeconds)) * 1000;
  const presence =
    options.slot &&
    new Presence(options.slot, jobSeconds, () => clock.remainingMs - shortestMs - DRAIN_MARGIN_SECONDS * 1000);
  const firing = options.slot?.slot ? undefined : firingOf({ ...options, queues: lanes.queues }, emit);
  const onFailure = (during: string, error: unknown) => emit(failureEvent(during, error));
  const attempts = new Attempts({
    inFlight,
    tally,
    jobSeconds,
    bell: {
      ring: () => {
        settler.wake();
        bell.ring();
      },
    },
    perform: (job, stopper) => {
      const contract = kindOf(job.kind);
      // Before it runs: what it is given may be changed by then.
      const sealing = sealingOf(job, contract, options.contracts);
      const seal = (result: unknown) => sealResult(sealing, sealing.kind, result);
      const transaction = new JobTransaction(job, pool, clock.end, seal);
      const performed = perform(job, contract, contract.processor, {
        contracts: options.contracts,
        middleware: options.middleware,
        stopper,
        transaction,
        progress: board.of(job),
        log: options.log,
        where,
      });
      if (sealing.codec === undefined) return performed;
      return performed.then((outcome) => sealOutcome(outcome, { kind: sealing.kind, attempts: job.attempts }, sealing));
    },
    delaySeconds: (kind, count) => backoff(kindOf(kind).backoff, count),
    timeToWait: () => !clock.isShort(clock.statementMs()),
  });
  const cutShort = (error: unknown) => error instanceof DatabaseTimeoutError && clock.isShort(error.timeoutMs);
  const onDead: OnDead = {
    jobs: onDeadJobs(options.contracts),
    refused: (job, reason) => emit({ name: 'job.on_dead_refused', ...job, reason }),
  };
  const settler = new Settler({ db, pool, attempts, tally, supply, bell, onDead, onFailure, cutShort, end: clock.end });
  const broker = new Broker({
    db,
    concurrency: options.concurrency,
    others: options.others ?? (() => 0),
    attempts,
    inFlight,
    settler,
    supply,
    bell,
    watcher: new Watcher(inFlight),
    board,
    kinds: () => fitting(clock.remainingMs),
    presence,
    firing,
    nextPhase: (at) => {
      const phase = nextPhase({
        ...at,
        drainRequested: isToldToEnd(options),
        remainingMs: clock.remainingMs,
        relieved: presence?.relieved === true || clock.elapsedMs >= (options.claimSeconds ?? Infinity) * 1000,
        lingerMs: options.lingerSeconds * 1000,
        present: presence?.present === true,
      });
      if (phase !== 'claim' && phase !== 'leave') emit({ name: 'run.last_claimed', reason: phase });
      return phase;
    },
    onFailure,
    cutShort,
    end: clock.end,
  });
  /** Whether the run is to go on at all. */
  const begin = async (until: AbortSignal): Promise<RunSummary['reason'] | 'take'> => {
    if (!presence || !options.slot) return 'take';
    if (isToldToEnd(options)) return 'drained';
    const { woken } = options.slot;
    const start = { woken, lingers: options.lingerSeconds > 0, concurrency: options.concurrency };
    const decided = async () => {
      // First, so that what it puts in counts as due.
      await firing?.fire(db);
      return presence.begin(db, start, lanes);
    };
    return persist(decided, { until, failed: (error) => onFailure('begin', error) });
  };
  return { attempts, begin, broker, presence, settler, supply };
}

function isToldToEnd({ signal, finish }: Pick<RunOptions<Contracts>, 'signal' | 'finish'>): boolean {
  return [signal, finish].some((one) => one?.aborted);
}

/** A listener that throws is a fault of its own; the jobs go on. */
function guarded({ emit, log }: Pick<RunOptions<Contracts>, 'emit' | 'log'>): Emit {
  return (event) => {
    try {
      emit(event);
    } catch (error) {
      log.error('a listener of queue events threw', { event: event.name, error });
    }
  };
}
