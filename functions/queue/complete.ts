import type { Patience } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { Claim, JobId } from './job.ts';
import { settledBefore } from './repeats.ts';

export type CompletedClaim = Claim & {
  /** What jsonb can hold (result.ts); `undefined` is kept as null. */
  readonly result: unknown;
};

/** The statement is kept in the database, which keeps its plan: migrations/0015. */
const COMPLETE = `
SELECT missed AS id
FROM millrace.complete(ids => $1, tokens => $2, results => $3, patience => $4) missed`;

/**
 * Finishes claimed jobs, also those that somebody asked to cancel: their effects have happened. Resolves the ids accepted
 * by the fence; a missing id was overtaken, and its result is dropped. Repeating it with the same tokens is accepted.
 * `patience`: how long it waits for somebody who holds a row; default as long as the connection does.
 */
export async function complete(db: Db, claims: readonly CompletedClaim[], patience?: Patience): Promise<JobId[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<{ id: JobId }>(COMPLETE, [
    uuids(claims.map((claim) => claim.id)),
    uuids(claims.map((claim) => claim.token)),
    JSON.stringify(claims.map((claim) => claim.result)),
    patience ?? null,
  ]);
  const ids = [...new Set(claims.map(({ id }) => id))];
  if (rows.length === 0) return ids;
  const missed = new Set(rows.map((job) => job.id));
  const repeats = await settledBefore(
    db,
    claims.filter(({ id }) => missed.has(id)),
  );
  for (const { id, status } of repeats) if (status === 'completed') missed.delete(id);
  return ids.filter((id) => !missed.has(id));
}

/** As Postgres writes an array of them. pg would look in each for what is to be escaped. */
function uuids(all: readonly string[]): string {
  return `{${all.join(',')}}`;
}
