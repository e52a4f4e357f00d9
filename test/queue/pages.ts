import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';

export type PlanMode = 'force_custom_plan' | 'force_generic_plan';

/** What statements cost, by the counters of their own transaction. */
export interface Cost {
  /** Pages of our tables and indexes that were looked at, whether they came from memory or not. */
  readonly pages: number;
  /** Rows that were read because a table was read from end to end. */
  readonly rowsScanned: number;
}

const COST = `
SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::int AS pages,
       (sum(pg_stat_get_xact_tuples_returned(c.oid)) FILTER (WHERE c.relkind = 'r'))::int AS "rowsScanned"
FROM pg_class c
WHERE c.relnamespace = 'millrace'::regnamespace`;

/**
 * What the statements of a verb cost on this connection. Each is tried in a transaction that rolls back, then carried
 * out for the verb to go on.
 */
export async function costOf(client: pg.Client, mode: PlanMode, verb: (db: Db) => Promise<unknown>): Promise<Cost> {
  const sum = { pages: 0, rowsScanned: 0 };
  await client.query(`SET plan_cache_mode = ${mode}`);
  await verb({
    query: async (text, values = []) => {
      const cost = await costOfOne(client, text, values);
      sum.pages += cost.pages;
      sum.rowsScanned += cost.rowsScanned;
      return client.query(text, values);
    },
  });
  return sum;
}

// EXECUTE, because a statement with $1 is planned for its values whatever plan_cache_mode says.
async function costOfOne(client: pg.Client, text: string, values: unknown[]): Promise<Cost> {
  await client.query('BEGIN');
  try {
    await client.query(`PREPARE tried AS ${text}`);
    const { rows: before } = await client.query<Cost>(COST);
    await client.query(`EXECUTE tried${values.length ? `(${values.map(literal).join(', ')})` : ''}`);
    const { rows: after } = await client.query<Cost>(COST);
    const difference = (key: keyof Cost) => (after[0] as Cost)[key] - (before[0] as Cost)[key];
    return { pages: difference('pages'), rowsScanned: difference('rowsScanned') };
  } finally {
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.map(element).join(',')}}` : String(value));
}

function element(value: unknown): string {
  return value === null ? 'NULL' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`;
}
