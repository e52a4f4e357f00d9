import type { Db } from './db.ts';
import { giveBack, type Returned } from './give-back.ts';
import type { Claim } from './job.ts';

export type ReleasedClaim = Claim & {
  /** 0 for a drain; the time to wait for a snooze. */
  readonly delaySeconds: number;
};

/**
 * Gives jobs back with their attempt, due again in `delaySeconds`: nothing failed. A job that somebody asked to cancel ends in
 * `cancelled` (with the attempt: it did run), and so does one beside a pending job of its unique key. Resolves what the fence
 * accepted; a missing id was overtaken. Repeating it with the same tokens is accepted.
 */
export async function release(db: Db, claims: readonly ReleasedClaim[]): Promise<Returned[]> {
  return giveBack(
    db,
    claims.map(({ id, token, delaySeconds }) => ({ id, token, delaySeconds })),
  );
}
