import type { Db } from '../../functions/queue/db.ts';
import type { Delivery } from './deliveries.ts';

export interface TallyLine {
  readonly event: string;
  /** Empty for deliveries that belong to no repository. */
  readonly repository: string;
  readonly deliveries: number;
}

/** Where counted and enqueued differ; both 0 to whatever. */
export interface Difference {
  readonly event: string;
  readonly repository: string;
  readonly enqueued: number;
  readonly counted: number;
}

/** The application's own table, which the processor writes in the transaction that completes its job. */
export async function createTally(db: Db): Promise<void> {
  await db.query(`
    CREATE TABLE IF NOT EXISTS public.webhook_tally (
      run text NOT NULL,
      event text NOT NULL,
      repository text NOT NULL,
      deliveries bigint NOT NULL,
      PRIMARY KEY (run, event, repository)
    )`);
}

/** How many deliveries of the run are counted so far, which is how many of its jobs have completed. */
export async function counted(db: Db, run: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT coalesce(sum(deliveries), 0)::int AS n
     FROM public.webhook_tally
     WHERE run = $1`,
    [run],
  );
  return rows[0]?.n ?? 0;
}

/** Largest first. */
export async function tallyOf(db: Db, run: string): Promise<TallyLine[]> {
  const { rows } = await db.query<TallyLine>(
    `SELECT event, repository, deliveries::int
     FROM public.webhook_tally
     WHERE run = $1
     ORDER BY deliveries DESC, event, repository`,
    [run],
  );
  return rows;
}

/** Compares per event and repository; empty means exact. */
export function differences(deliveries: readonly Delivery[], tally: readonly TallyLine[]): Difference[] {
  const lines = new Map<string, Difference>();
  const add = (event: string, repository: string, enqueued: number, counted: number) => {
    const key = JSON.stringify([event, repository]);
    const line = lines.get(key) ?? { event, repository, enqueued: 0, counted: 0 };
    lines.set(key, { ...line, enqueued: line.enqueued + enqueued, counted: line.counted + counted });
  };
  for (const { event, repository = '' } of deliveries) add(event, repository, 1, 0);
  for (const { event, repository, deliveries: n } of tally) add(event, repository, 0, n);
  return [...lines.values()].filter(({ enqueued, counted }) => enqueued !== counted);
}
