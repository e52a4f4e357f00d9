import type { Db } from './db.ts';
import type { Claim, JobId } from './job.ts';
import type { Kinds } from './marks.ts';
import { release } from './release.ts';

/** Seconds that a claim may be carried out before its answer is given up, or after; and by which the database's clock may be set. */
const SLACK_SECONDS = 60;

/*
 * Of the index of leases only what these claims can have set: not what runs for long, however much that is. `$2`, `$3`: between
 * which seconds from now the leases end, a pair for each length of lease.
 */
const HELD = `
SELECT DISTINCT h.*
FROM unnest($2::float8[], $3::float8[]) l(least, most)
CROSS JOIN LATERAL (
  SELECT j.id, j.locked_by AS token
  FROM millrace.live_jobs j
  WHERE j.status = 'processing'
    AND j.locked_until > now() + make_interval(secs => l.least)
    AND j.locked_until <= now() + make_interval(secs => l.most)
    AND j.locked_by = ANY ($1::uuid[])
  ORDER BY j.locked_until
) h`;

export interface Lost {
  readonly kinds: Kinds;
  /** Since the first of the answers was given up, however often it was asked in vain since. */
  readonly seconds: number;
}

/**
 * Gives back what claims with these tokens took, for claims whose answer was lost: nobody runs those jobs. Their attempt
 * is given back too. Resolves the ids; none if the server never carried the claim out, or not yet. A row that somebody holds
 * is left to another look.
 * `lost`: what was claimed, and when. Default: anything, at any time.
 */
export async function releaseTokens(db: Db, tokens: readonly string[], lost?: Lost): Promise<JobId[]> {
  const leases = lost ? [...new Set(lost.kinds.values())] : [0];
  const { rows } = await db.query<Claim>(HELD, [
    tokens,
    leases.map((seconds) => (lost ? seconds - lost.seconds : 0) - SLACK_SECONDS),
    leases.map((seconds) => (lost ? seconds + SLACK_SECONDS : 1e9)),
  ]);
  const returned = await release(
    db,
    rows.map((claim) => ({ ...claim, delaySeconds: 0 })),
  );
  return returned.filter(({ status }) => status !== 'blocked').map(({ id }) => id);
}
