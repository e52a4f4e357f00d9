import type { Db } from './db.ts';
import type { Claim, JobId } from './job.ts';
import { release } from './release.ts';

// By the lease index, and only its newest part: a claim whose answer was lost has just set its leases.
const HELD = `
SELECT j.id, j.locked_by AS token
FROM millrace.live_jobs j
WHERE j.status = 'processing'
  AND j.locked_until > now() - interval '1 minute'
  AND j.locked_by = ANY ($1::uuid[])`;

/**
 * Gives back what claims with these tokens took, for claims whose answer was lost: nobody runs those jobs. Their attempt
 * is given back too. Resolves the ids; none if the server never carried the claim out, or not yet. A row that somebody holds
 * is left to another look.
 */
export async function releaseTokens(db: Db, tokens: readonly string[]): Promise<JobId[]> {
  const { rows } = await db.query<Claim>(HELD, [tokens]);
  const returned = await release(
    db,
    rows.map((claim) => ({ ...claim, delaySeconds: 0 })),
  );
  return returned.filter(({ status }) => status !== 'blocked').map(({ id }) => id);
}
