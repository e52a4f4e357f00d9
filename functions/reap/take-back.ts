import { loggedEvents } from '../lambda/telemetry.ts';
import type { Log } from '../queue/context.ts';
import type { Contracts } from '../queue/contract.ts';
import type { Db } from '../queue/db.ts';
import { MillraceError } from '../queue/errors.ts';
import type { JobId } from '../queue/job.ts';
import { onDeadJobs } from '../queue/on-dead.ts';
import { reap } from '../queue/reap.ts';

/** Rows of a statement: some milliseconds of row locks. */
const REAP_BATCH = 500;

export interface TakeBackOptions {
  readonly db: Db;
  readonly log: Log;
  /** Which kinds have an `onDead`. Asked for at each tick; what it rejects with is told at the end. */
  readonly contracts: () => Promise<Contracts>;
  /** Whether there is the time for another statement. */
  readonly timeLeft: () => boolean;
}

export interface TakenBack {
  reaped: number;
  /** Of those: the ones that are dead now. */
  buried: number;
  /** Somebody's open transaction holds their unique key: the next tick tries again. */
  blocked: number;
}

/** The contracts cannot be loaded or do not fit together, so that jobs which would die wait for a tick that can. */
export class ContractsUnreadableError extends MillraceError {
  static override readonly name: string = 'ContractsUnreadableError';
  readonly code = 'contracts_unreadable';
}

/**
 * Reaps until no lease has run out, or the time is over. Without the contracts nobody knows what is to be put in for a job that
 * dies: such a job waits (docs/decisions/0017). Counts in `done` as it goes, whatever it throws in the end.
 * @throws ContractsUnreadableError once all others have been taken back
 */
export async function takeBack({ db, log, contracts, timeLeft }: TakeBackOptions, done: TakenBack): Promise<void> {
  const emit = loggedEvents(log);
  let known: Contracts | undefined;
  let failure: unknown;
  try {
    known = await contracts();
    onDeadJobs(known);
  } catch (error) {
    failure = unreadable(error);
    known = undefined;
  }
  const blocked: JobId[] = [];
  for (let found = true; found && timeLeft(); ) {
    const jobs = await reap(db, {
      limit: REAP_BATCH,
      except: blocked,
      contracts: known,
      spareDying: known === undefined,
      onDeadRefused: (job, reason) => emit({ name: 'job.on_dead_refused', ...job, reason }),
    });
    found = jobs.length > 0;
    for (const { status, ...job } of jobs) {
      if (status === 'blocked') blocked.push(job.id);
      if (status === 'blocked' || status === 'returned') continue;
      emit({ name: 'job.reaped', ...job, status });
      done.reaped++;
      if (status === 'dead') done.buried++;
    }
  }
  done.blocked = blocked.length;
  if (failure !== undefined) throw failure;
}

function unreadable(cause: unknown): ContractsUnreadableError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ContractsUnreadableError(
    `the contracts cannot be read, so jobs that would die stay as they are until they can: ${why}`,
    { cause },
  );
}
