import type pg from 'pg';
import type { Db } from '../../../functions/queue/db.ts';

/** What a read cost the database. */
export interface Explained {
  /** Planning and execution of its statements; neither the way to the client and back nor what the client makes of it. */
  readonly ms: number;
  /** Pages of tables and indexes that were looked at, in memory or not; those of planning not included. */
  readonly pages: number;
}

interface Answer {
  readonly 'QUERY PLAN': readonly [
    {
      readonly 'Planning Time': number;
      readonly 'Execution Time': number;
      readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
    },
  ];
}

/** Carries a read out under EXPLAIN; what it resolves is worth nothing, since its statements answer no rows. */
export async function explained(client: pg.Client, read: (db: Db) => Promise<unknown>): Promise<Explained> {
  const cost = { ms: 0, pages: 0 };
  await read({
    query: async (text, values) => {
      const { rows } = await client.query<Answer>(
        `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`,
        values,
      );
      const [answer] = (rows[0] as Answer)['QUERY PLAN'];
      cost.ms += answer['Planning Time'] + answer['Execution Time'];
      cost.pages += answer.Plan['Shared Hit Blocks'] + answer.Plan['Shared Read Blocks'];
      return { rows: [], rowCount: 0 } as never;
    },
  });
  return cost;
}
