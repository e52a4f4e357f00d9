import { setTimeout as sleep } from 'node:timers/promises';
import { loggedEvents } from '../lambda/telemetry.ts';
import type { Log } from '../queue/context.ts';
import type { Contracts } from '../queue/contract.ts';
import type { Db } from '../queue/db.ts';
import { MillraceError } from '../queue/errors.ts';
import type { JobId } from '../queue/job.ts';
import { leaseIn } from '../queue/lease-in.ts';
import { onDeadJobs } from '../queue/on-dead.ts';
import { reap } from '../queue/reap.ts';
import type { Slice } from '../queue/time-slices.ts';
import { LeaseMark } from './lease-mark.ts';

/** Rows of a statement, and so the most that are locked at once: for about 40 ms (measured). */
const REAP_BATCH = 1000;
/** After a slice behind the mark a tick rests for so many times as long as it looked: that costs a core a fifth. */
const REST = 4;
const LONGEST_REST_MS = 1_000;
/** Milliseconds of rests in one tick, which has other things to do. The next one goes on. */
const BEHIND_REST_MS = 20_000;

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
  { db, log, contracts, mark = new LeaseMark(), timeLeft }: TakeBackOptions,
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
  /** Resolves whether there was the time for all of them. */
  const reapAll = async (from: string, until?: string): Promise<boolean> => {
    let after = from;
    while (timeLeft()) {
      const jobs = await reap(db, {
        limit: REAP_BATCH,
        after,
        until,
        except: blocked,
        contracts: known,
        spareDying: known === undefined,
        onDeadRefused: ({ id, kind }, reason) => emit({ name: 'job.on_dead_refused', id, kind, reason }),
      });
      if (jobs.length === 0) return true;
      after = jobs.at(-1)?.leaseUntil ?? after;
      for (const { status, leaseUntil: _, ...job } of jobs) {
        if (status === 'blocked') blocked.push(job.id);
        if (status === 'blocked' || status === 'returned') continue;
        emit({ name: 'job.reaped', ...job, status });
        done.reaped++;
        if (status === 'dead') done.buried++;
      }
    }
    return false;
  };
  const from = await mark.get(db);
  if (await reapAll(from)) {
    await mark.move(db, from);
    await lookBehind(db, mark, { timeLeft, reapAll });
  }
  done.blocked = blocked.length;
  if (failure !== undefined) throw failure;
}

interface Behind {
  readonly timeLeft: () => boolean;
  readonly reapAll: (from: string, until: string) => Promise<boolean>;
}

/** Takes back what ended before the mark, slice by slice. What cannot be taken back is looked for in a round of its own. */
async function lookBehind(db: Db, mark: LeaseMark, { timeLeft, reapAll }: Behind): Promise<void> {
  let restMs = 0;
  const lookIn = async ({ from, until }: Slice): Promise<boolean> => {
    const startedAt = performance.now();
    const first = await leaseIn(db, { from, until });
    restMs = Math.min(REST * (performance.now() - startedAt), LONGEST_REST_MS);
    if (first === undefined) return true;
    if (!(await reapAll(first, until))) return false;
    if ((await leaseIn(db, { from: first, until })) !== undefined) mark.leave();
    return true;
  };
  for (let restedMs = 0; mark.behind && timeLeft() && restedMs < BEHIND_REST_MS; restedMs += restMs) {
    await mark.behind.next(lookIn);
    await sleep(restMs);
  }
}

function unreadable(cause: unknown): ContractsUnreadableError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ContractsUnreadableError(
    `the contracts cannot be read, so jobs that would die stay as they are until they can: ${why}`,
    { cause },
  );
}
