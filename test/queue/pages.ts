import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';

export type PlanMode = 'force_custom_plan' | 'force_generic_plan';

/** What statements cost, by the counters of their own transaction. */
export interface Cost {
  /** Pages of our tables and indexes that were looked at, whether they came from memory or not. */
  readonly pages: number;
  /** Rows that were read because a table was read from end to end. */
  readonly rowsScanned: number;
  /** Entries of indexes that were read. */
  readonly entries: number;
  /** Partitions that a statement looks into which also locks rows: see migrations/0004. */
  readonly partitions: string[];
}

interface Counters extends Pick<Cost, 'pages' | 'rowsScanned' | 'entries'> {
  /** Pages of the catalog of columns. */
  readonly columns: number;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: PlanNode[];
}

const COUNTERS = `
SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::int AS pages,
       (sum(pg_stat_get_xact_tuples_returned(c.oid)) FILTER (WHERE c.relkind = 'r'))::int AS "rowsScanned",
       (sum(pg_stat_get_xact_tuples_returned(c.oid)) FILTER (WHERE c.relkind = 'i'))::int AS entries,
       pg_stat_get_xact_blocks_fetched('pg_attribute'::regclass)::int AS columns
FROM pg_class c
WHERE c.relnamespace = 'millrace'::regnamespace`;

/**
 * What the statements of a verb cost on this connection. Each is tried in a transaction that rolls back, then carried
 * out for the verb to go on.
 */
export async function costOf(client: pg.Client, mode: PlanMode, verb: (db: Db) => Promise<unknown>): Promise<Cost> {
  const sum = { pages: 0, rowsScanned: 0, entries: 0, partitions: [] as string[] };
  await client.query(`SET plan_cache_mode = ${mode}`);
  await verb({
    query: async (text, values = []) => {
      const cost = await costOfKnown(client, text, values);
      sum.pages += cost.pages;
      sum.rowsScanned += cost.rowsScanned;
      sum.entries += cost.entries;
      sum.partitions.push(...cost.partitions);
      return client.query(text, values);
    },
  });
  return sum;
}

/**
 * Once more if the session had to learn anew what the tables are: others on the server have changed theirs by the thousand, so
 * it forgot its own and its plans, and what planning reads came on top.
 */
async function costOfKnown(client: pg.Client, text: string, values: unknown[]): Promise<Cost> {
  for (let tries = 3; ; tries--) {
    const { columns, ...cost } = await costOfOne(client, text, values);
    if (columns === 0 || tries === 1) return cost;
  }
}

// EXECUTE, because a statement with $1 is planned for its values whatever plan_cache_mode says.
async function costOfOne(client: pg.Client, text: string, values: unknown[]): Promise<Cost & Counters> {
  await client.query('BEGIN');
  try {
    await client.query(`PREPARE tried AS ${text}`);
    const execute = `EXECUTE tried${values.length ? `(${values.map(literal).join(', ')})` : ''}`;
    const { rows: plans } = await client.query(`EXPLAIN (FORMAT JSON) ${execute}`);
    const { rows: before } = await client.query<Counters>(COUNTERS);
    await client.query(execute);
    const { rows: after } = await client.query<Counters>(COUNTERS);
    const difference = (key: keyof Counters) => (after[0] as Counters)[key] - (before[0] as Counters)[key];
    const nodes = flat(plans[0]['QUERY PLAN'][0].Plan);
    const locks = nodes.some((node) => ['LockRows', 'ModifyTable'].includes(node['Node Type']));
    return {
      pages: difference('pages'),
      rowsScanned: difference('rowsScanned'),
      entries: difference('entries'),
      columns: difference('columns'),
      partitions: locks ? nodes.filter(isScanOfPartition).map((node) => node['Relation Name'] as string) : [],
    };
  } finally {
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
}

function flat(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)];
}

function isScanOfPartition(node: PlanNode): boolean {
  return node['Node Type'].includes('Scan') && /^(payloads|finished_jobs)_/.test(node['Relation Name'] ?? '');
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.map(element).join(',')}}` : String(value));
}

function element(value: unknown): string {
  return value === null ? 'NULL' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`;
}
