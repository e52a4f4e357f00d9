import type { Db } from '../../functions/queue/db.ts';

/** Where the jobs of a run stand. */
export interface Standing {
  /** How many are in each state, such as `{ completed: 329 }`. */
  readonly states: Readonly<Record<string, number>>;
  /** Attempts beyond the first of each job. */
  readonly furtherAttempts: number;
  /** Leases that ran out. */
  readonly reaps: number;
  /** What the first dead job died of. */
  readonly diedOf: string | undefined;
}

export async function standingOf(db: Db, ids: readonly string[]): Promise<Standing> {
  const { rows } = await db.query<{
    status: string;
    jobs: number;
    further: number;
    reaps: number;
    error: string | null;
  }>(
    `SELECT status,
            count(*)::int AS jobs,
            coalesce(sum(attempts) FILTER (WHERE attempts > 1), 0)::int - (count(*) FILTER (WHERE attempts > 1))::int AS further,
            sum(reaps)::int AS reaps,
            min(errors -> -1 ->> 'message') FILTER (WHERE status = 'dead') AS error
     FROM millrace.jobs
     WHERE id = ANY ($1::uuid[])
     GROUP BY status`,
    [ids],
  );
  return {
    states: Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs])),
    furtherAttempts: rows.reduce((sum, { further }) => sum + further, 0),
    reaps: rows.reduce((sum, { reaps }) => sum + reaps, 0),
    diedOf: rows.find(({ error }) => error !== null)?.error ?? undefined,
  };
}
