import type { QueryResult, QueryResultRow } from 'pg';

/**
 * What the engine needs of a database: a `pg` Client, PoolClient or Pool, or anything shaped like one.
 * Every engine function takes it first, so that it joins whatever transaction the caller has open on it.
 */
export interface Db {
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
}
