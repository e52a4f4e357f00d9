import type { Db } from './db.ts';
import { giveBack, type Returned } from './give-back.ts';
import type { AttemptError, Claim } from './job.ts';

export type RetriedClaim = Claim & { readonly error: AttemptError; readonly delaySeconds: number };

/**
 * Gives failed jobs back, due again in `delaySeconds`. The attempt is spent and the error kept (the last 20 are). A job that
 * somebody asked to cancel ends in `cancelled`, and so does one beside a pending job of its unique key. Resolves what the
 * fence accepted; a missing id was overtaken. Repeating it with the same tokens is accepted. A job with no attempt left is for
 * `bury`: the database refuses it here.
 */
export async function retry(db: Db, claims: readonly RetriedClaim[]): Promise<Returned[]> {
  return giveBack(db, claims);
}
