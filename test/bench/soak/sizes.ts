import type { Db } from '../../../functions/queue/db.ts';
import type { SoakWindow } from './series.ts';

export type Sizes = Pick<SoakWindow, 'tableBytes' | 'indexBytes' | 'deadRows' | 'restBytes'>;

const SIZES = `
SELECT coalesce(sum(pg_table_size(relid)) FILTER (WHERE relid = $1::regclass), 0)::float8 AS table_bytes,
       coalesce(sum(pg_indexes_size(relid)) FILTER (WHERE relid = $1::regclass), 0)::float8 AS index_bytes,
       coalesce(sum(n_dead_tup) FILTER (WHERE relid = $1::regclass), 0)::float8 AS dead_rows,
       coalesce(sum(pg_total_relation_size(relid)) FILTER (WHERE relid <> $1::regclass), 0)::float8 AS rest_bytes
FROM pg_stat_user_tables`;

/** `queueTable`: the one that claims read, `millrace.live_jobs`. */
export async function sizesOf(db: Db, queueTable: string): Promise<Sizes> {
  const { rows } = await db.query<Record<'table_bytes' | 'index_bytes' | 'dead_rows' | 'rest_bytes', number>>(SIZES, [
    queueTable,
  ]);
  const { table_bytes = 0, index_bytes = 0, dead_rows = 0, rest_bytes = 0 } = rows[0] ?? {};
  return { tableBytes: table_bytes, indexBytes: index_bytes, deadRows: dead_rows, restBytes: rest_bytes };
}
