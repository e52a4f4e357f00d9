import { loggedEvents } from '../lambda/telemetry.ts';
import type { Log } from '../queue/context.ts';
import type { Contracts } from '../queue/contract.ts';
import type { Db } from '../queue/db.ts';
import { MillraceError } from '../queue/errors.ts';
import type { JobId } from '../queue/job.ts';
import { onDeadJobs } from '../queue/on-dead.ts';
import { reap } from '../queue/reap.ts';
import type { LeaseMark } from './lease-mark.ts';

/** Rows of a statement, and so the most that are locked at once: for about 40 ms (measured). */
const REAP_BATCH = 1000;

export interface TakeBackOptions {
  readonly db: Db;
  readonly log: Log;
  /** Which kinds have an `onDead`. Asked for at each tick; what it rejects with is told at the end. */
  readonly contracts: () => Promise<Contracts>;
  /** What the ticks before have seen. Default: nothing. */
  readonly mark?: LeaseMark | undefined;
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
export async function takeBack(
  { db, log, contracts, mark, timeLeft }: TakeBackOptions,
  done: TakenBack,
): Promise<void> {
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
  const from = await mark?.get(db);
  let after = from;
  let found = true;
  while (found && timeLeft()) {
    const jobs = await reap(db, {
      limit: REAP_BATCH,
      after,
      except: blocked,
      contracts: known,
      spareDying: known === undefined,
      onDeadRefused: ({ id, kind }, reason) => emit({ name: 'job.on_dead_refused', id, kind, reason }),
    });
    found = jobs.length > 0;
    after = jobs.at(-1)?.leaseUntil ?? after;
    for (const { status, leaseUntil: _, ...job } of jobs) {
      if (status === 'blocked') blocked.push(job.id);
      if (status === 'blocked' || status === 'returned') continue;
      emit({ name: 'job.reaped', ...job, status });
      done.reaped++;
      if (status === 'dead') done.buried++;
    }
  }
  done.blocked = blocked.length;
  if (!found) await mark?.move(db, from);
  if (failure !== undefined) throw failure;
}

function unreadable(cause: unknown): ContractsUnreadableError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ContractsUnreadableError(
    `the contracts cannot be read, so jobs that would die stay as they are until they can: ${why}`,
    { cause },
  );
}
