import type { Db } from '../../functions/queue/db.ts';

const TABLES = ['finished_jobs', 'payloads'] as const;

/**
 * Lays partitions as they would stand if upkeep had run for the last `days` days and then kept them all. Those of a database
 * that was migrated yesterday, before midnight, are laid anew.
 */
export async function layPastDays(db: Db, days: number): Promise<void> {
  for (const table of TABLES) {
    const { rows } = await db.query<{ part: string }>(
      `SELECT part::text FROM millrace.partitions($1)
       WHERE upper <= millrace.uuidv7_floor(date_trunc('day', now(), 'UTC')) ORDER BY upper`,
      [table],
    );
    for (const { part } of rows) await db.query(`DROP TABLE ${part}`);
    await db.query(
      `SELECT millrace.attach_partition($1, millrace.create_partition($1, 'oldest', NULL, upper), NULL, upper)
       FROM millrace.uuidv7_floor(date_trunc('day', now(), 'UTC') - make_interval(hours => 24 * $2)) upper`,
      [table, days],
    );
    await db.query(
      `SELECT millrace.attach_partition($1, millrace.create_partition($1, to_char(begins AT TIME ZONE 'UTC', 'YYYYMMDD'), lower, upper), lower, upper)
       FROM generate_series(1, $2) AS n,
            LATERAL (SELECT date_trunc('day', now(), 'UTC') - make_interval(hours => 24 * n) AS begins) day,
            LATERAL (SELECT millrace.uuidv7_floor(begins) AS lower, millrace.uuidv7_floor(begins + interval '24 hours') AS upper) bounds`,
      [table, days],
    );
  }
}

/** Lays partitions as they would stand if upkeep had been away for long: one from today to far ahead. */
export async function layWide(db: Db, table: (typeof TABLES)[number]): Promise<void> {
  const { rows } = await db.query<{ part: string; lower: string; upper: string }>(
    'SELECT part::text, lower, upper FROM millrace.partitions($1) WHERE lower IS NOT NULL AND upper IS NOT NULL',
    [table],
  );
  for (const { part } of rows) await db.query(`DROP TABLE ${part}`);
  await db.query(`SELECT millrace.attach_partition($1, millrace.create_partition($1, 'wide', $2, $3), $2, $3)`, [
    table,
    rows[0]?.lower,
    rows.at(-1)?.upper,
  ]);
}

/** Names without schema and table, `oldest`, `20261129`, …, in the order of their ids. */
export async function partitionsOf(db: Db, table: (typeof TABLES)[number]): Promise<string[]> {
  const { rows } = await db.query<{ part: string }>('SELECT part::text FROM millrace.partitions($1)', [table]);
  return rows.map(({ part }) => part.replace(`millrace.${table}_`, ''));
}

/** The partition a row lies in, named as above; undefined: there is no such row. */
export async function homeOf(db: Db, table: (typeof TABLES)[number], id: string): Promise<string | undefined> {
  const { rows } = await db.query<{ part: string }>(
    `SELECT tableoid::regclass::text AS part FROM millrace.${table} WHERE id = $1`,
    [id],
  );
  return rows[0]?.part.replace(`millrace.${table}_`, '');
}

/** The day that a version 7 id of `secondsAgo` belongs to, `20261129`. */
export async function dayOf(db: Db, secondsAgo: number): Promise<string> {
  const { rows } = await db.query<{ day: string }>(
    `SELECT to_char((now() - make_interval(secs => $1)) AT TIME ZONE 'UTC', 'YYYYMMDD') AS day`,
    [secondsAgo],
  );
  return (rows[0] as { day: string }).day;
}
