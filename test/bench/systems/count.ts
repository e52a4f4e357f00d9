import { openClient } from '../../support/database.ts';

/** Rows of a table, those of a condition if one is given. */
export async function count(databaseUrl: string, table: string, where = 'true'): Promise<number> {
  const client = await openClient(databaseUrl);
  const { rows } = await client
    .query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE ${where}`)
    .finally(() => client.end());
  return rows[0]?.n ?? Number.NaN;
}
