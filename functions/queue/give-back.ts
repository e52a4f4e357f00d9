import { aroundBlocked, isBlocked, type Patience } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import { missing, type Repeat, settledBefore } from './repeats.ts';

/** A job that was given back, and where it is now. */
export interface Returned {
  readonly id: JobId;
  /**
   * `cancelled`: somebody had asked for it, or a job of the same unique key is pending and runs in its place.
   * `blocked`: somebody's open transaction holds the row. Nothing was written; it can be tried again.
   */
  readonly status: 'pending' | 'cancelled' | 'blocked';
}

export type GivenBack = Claim & { readonly delaySeconds: number; readonly error?: AttemptError };

/** The statement is kept in the database, which keeps its plan: migrations/0015. Errors of NULL are a release. */
const GIVE_BACK = `
SELECT id, status
FROM millrace.give_back(ids => $1, tokens => $2, delays => $3, errors => $4, parks => $5, patience => $6)`;

/**
 * What retry and release have in common: the jobs are pending again, or ended if that is what should become of them. All
 * claims have an error (the attempt is spent) or none has (it is given back). A missing id was overtaken.
 */
export async function giveBack(db: Db, claims: readonly GivenBack[]): Promise<Returned[]> {
  if (claims.length === 0) return [];
  const returned = await aroundBlocked<GivenBack, Returned>(
    // The newest first, as the function has it, should they have to go one by one.
    claims.toSorted((one, other) => (one.id < other.id ? 1 : -1)),
    (some, patience) => write(db, some, patience, false),
    (claim) => park(db, claim),
  );
  const repeats = await settledBefore(db, missing(claims, returned));
  return [...returned, ...repeats.filter(wasReturned)];
}

/**
 * For a job whose unique key is held by somebody's open transaction: all is written as if it were pending, but for its status.
 * It stays under its claim, with the lease ended and `returned_by` = `locked_by`, which tells the reaper to put it back (or to
 * let it give way to the twin) without a reap. So nobody waits for that transaction, a drain least of all, and no attempt is
 * lost by it; the job is late by at most the reaper's minute.
 */
async function park(db: Db, claim: GivenBack): Promise<Returned[]> {
  return write(db, [claim], '50ms', true).catch((error: unknown) => {
    if (!isBlocked(error)) throw error;
    return [{ id: claim.id, status: 'blocked' }];
  });
}

async function write(db: Db, claims: readonly GivenBack[], patience: Patience, parks: boolean): Promise<Returned[]> {
  const errors = claims.map(({ error }) => error);
  const { rows } = await db.query<Returned>(GIVE_BACK, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => claim.delaySeconds),
    errors.includes(undefined) ? null : JSON.stringify(errors),
    parks,
    patience,
  ]);
  return rows;
}

/** A settle that gave the job back: retry, release, or either of them on a job that was to end. */
function wasReturned(repeat: Repeat): repeat is Repeat & Returned {
  return repeat.status === 'pending' || repeat.status === 'cancelled';
}
