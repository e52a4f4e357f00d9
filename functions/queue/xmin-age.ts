import type { Db } from './db.ts';

const XMIN_AGE = `SELECT millrace.xmin_age()::float8 AS age`;

/**
 * How many transactions ago the oldest snapshot was taken that somebody still holds: what has been deleted since stays in
 * the tables. 0 if nothing is held.
 */
export async function xminAge(db: Db): Promise<number> {
  return (await db.query<{ age: number }>(XMIN_AGE)).rows[0]?.age ?? 0;
}
