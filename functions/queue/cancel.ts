import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';
import type { Operator } from './operator.ts';

export type CancelAnswer =
  | 'cancelled'
  /** It is running: its signal fires within about a second, and it ends in `cancelled` unless it completes first. */
  | 'requested'
  | { readonly wrongState: Status };

const CANCEL = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', coalesce($4, current_setting('lock_timeout')), true)
)
SELECT millrace.cancel($1, $2, $3) AS answer
FROM patience`;

/**
 * Ends a pending job, or asks a running one to stop. Both may be repeated: a job that is cancelled already is
 * 'cancelled'. Resolves undefined if there is no such job. The statements are in migrations/0009, for callers from SQL.
 * `patience`: how long it waits for open transactions that hold the job (an enqueue that was kept behind it does), `3s`; then
 * it rejects with 55P03. Default as long as the connection does.
 */
export async function cancel(db: Db, id: JobId, by?: Operator, patience?: string): Promise<CancelAnswer | undefined> {
  const { rows } = await db.query<{ answer: 'cancelled' | 'requested' | Status | null }>(CANCEL, [
    id,
    by?.actor ?? null,
    by?.requestId ?? null,
    patience ?? null,
  ]);
  const answer = rows[0]?.answer ?? undefined;
  if (answer === undefined || answer === 'cancelled' || answer === 'requested') return answer;
  return { wrongState: answer };
}
