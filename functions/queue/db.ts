/** A row as a client gives it: the one of pg's types, which a project need not have. */
// biome-ignore lint/suspicious/noExplicitAny: as pg has it; with `unknown` its clients would not fit.
export type QueryRow = Record<string, any>;

/**
 * What the engine needs of a database: a `pg` Client, PoolClient or Pool, or anything shaped like one (docs/enqueue.md
 * makes one of the transactions of Kysely, Drizzle, Prisma and postgres.js).
 * Every engine function takes it first, so that it joins whatever transaction the caller has open on it.
 */
export interface Db {
  query<Row extends QueryRow>(text: string, values?: unknown[]): Promise<Answer<Row>>;
}

/** The part of pg's QueryResult that the engine reads. */
export interface Answer<Row> {
  rows: Row[];
  /** Rows returned or changed. */
  rowCount: number | null;
  /** First word of the statement's command tag; read of COMMIT only. */
  command?: string;
}
