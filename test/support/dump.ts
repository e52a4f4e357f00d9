import { existsSync } from 'node:fs';
import { execa } from 'execa';
import type pg from 'pg';

/**
 * Everything that a database holds, as text: by pg_dump where there is one for its version, else table by table as COPY
 * writes it, which is what pg_dump does with rows.
 */
export async function dump(url: string, db: pg.Pool): Promise<string> {
  const { rows } = await db.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version`,
  );
  const program = `/usr/lib/postgresql/${rows[0]?.version}/bin/pg_dump`;
  if (existsSync(program)) return (await execa(program, [url], { maxBuffer: 100_000_000 })).stdout;
  const tables = await db.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name
     FROM pg_class c
     WHERE c.relkind = 'r' AND c.relnamespace IN ('millrace'::regnamespace, 'public'::regnamespace)`,
  );
  let text = '';
  for (const { name } of tables.rows) {
    const { rows: held } = await db.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
    text += `${name}\n${held.map(({ row }) => row).join('\n')}\n`;
  }
  return text;
}
