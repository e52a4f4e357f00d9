import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';
import type { Operator } from './operator.ts';

export type EraseAnswer = 'erased' | { readonly wrongState: Status };

const ERASE = `
SELECT millrace.erase($1, $2, $3) AS answer`;

/**
 * Takes a finished or dead job out, with its payload, result, errors and progress: see migrations/0009, which has the
 * statements, for callers from SQL. Resolves undefined if there is no such job.
 */
export async function erase(db: Db, id: JobId, by?: Operator): Promise<EraseAnswer | undefined> {
  const { rows } = await db.query<{ answer: 'erased' | Status | null }>(ERASE, [
    id,
    by?.actor ?? null,
    by?.requestId ?? null,
  ]);
  const answer = rows[0]?.answer ?? undefined;
  return answer === undefined || answer === 'erased' ? answer : { wrongState: answer };
}
