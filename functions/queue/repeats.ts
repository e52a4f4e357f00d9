import type { Db } from './db.ts';
import type { Claim, JobId, Status } from './job.ts';

// One statement over all tables: two would miss a row that moves between them.
const SETTLED = `
SELECT s.id,
       coalesce(
         (SELECT f.status FROM millrace.finished_jobs f WHERE f.id = s.id AND f.locked_by = s.token),
         (SELECT d.status FROM millrace.dead_jobs d WHERE d.id = s.id AND d.locked_by = s.token),
         (SELECT 'pending' FROM millrace.live_jobs l WHERE l.id = s.id AND l.returned_by = s.token)) AS status
FROM unnest($1::uuid[], $2::uuid[]) s(id, token)`;

export interface Repeat {
  readonly id: JobId;
  readonly status: Status;
}

/**
 * What these very claims were settled as before: the answer to that settle was lost, and repeating it is harmless. Ask
 * only for claims that a settle has just missed. It is a statement of its own because the missing one's snapshot may be
 * older than the commit of the first.
 */
export async function settledBefore(db: Db, claims: readonly Claim[]): Promise<Repeat[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<{ id: JobId; status: Status | null }>(SETTLED, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
  ]);
  return rows.filter((row): row is Repeat => row.status !== null);
}

/** Claims that are not among the settled. */
export function missing<C extends Claim>(claims: readonly C[], settled: readonly { readonly id: JobId }[]): C[] {
  if (settled.length === claims.length) return [];
  const ids = new Set(settled.map((job) => job.id));
  return claims.filter((claim) => !ids.has(claim.id));
}
