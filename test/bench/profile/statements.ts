import { openClient } from '../../support/database.ts';

/** Those that took the server longest, within functions too, in all databases: those that are dropped by now as well. */
const LONGEST = `
SELECT sum(calls)::float8 AS calls,
       sum(total_exec_time + total_plan_time) AS ms,
       sum(shared_blks_hit + shared_blks_read)::float8 AS pages,
       sum(wal_bytes)::float8 AS wal_bytes,
       left(regexp_replace(query, '\\s+', ' ', 'g'), 110) AS statement
FROM pg_stat_statements
GROUP BY statement
ORDER BY ms DESC
LIMIT $1`;

interface Longest {
  readonly calls: number;
  readonly ms: number;
  readonly pages: number;
  readonly wal_bytes: number;
  readonly statement: string;
}

/** A line each, of a server that was started with pg_stat_statements. */
export async function longestStatements(serverUrl: string, limit = 15): Promise<string[]> {
  const client = await openClient(serverUrl);
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    const { rows } = await client.query<Longest>(LONGEST, [limit]);
    return rows.map(
      ({ calls, ms, pages, wal_bytes, statement }) =>
        `${ms.toFixed(0).padStart(7)} ms, ${calls} calls, ${(pages / calls).toFixed(1)} pages and ${(wal_bytes / calls).toFixed(0)} B of WAL each: ${statement}`,
    );
  } finally {
    await client.end();
  }
}
