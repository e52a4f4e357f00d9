import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface Database {
  readonly url: string;
  /** The same database, past the pooler that `url` and `pool` may go through. */
  readonly directUrl: string;
  readonly pool: pg.Pool;
  drop(): Promise<void>;
}

/**
 * A database of its own on the server; a copy of `template`, or an empty one.
 * `poolerUrl`: of a pooler in front of the server, through which it is used.
 */
export async function createDatabase(
  serverUrl: string,
  template = 'template0',
  poolerUrl: string = serverUrl,
): Promise<Database> {
  const name = `millrace_test_${randomBytes(6).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = inDatabase(poolerUrl, name);
  if (poolerUrl !== serverUrl) await spread(url);
  const pool = openPool(url);
  return {
    url,
    directUrl: inDatabase(serverUrl, name),
    pool,
    drop: async () => {
      // Also ends what a failed test has left waiting, for which the pool would wait.
      await onServer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
      await pool.end();
    },
  };
}

export function openPool(url: string, max = 10): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  // A test may end this database's connections on purpose, and its end does: one that says so must not end the process, be it
  // idle, or still about to close after `pool.end()` has resolved.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** A connection of its own, for a transaction that stays open. */
export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** The same server and role, another database. */
export function inDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** One statement on a connection of its own. */
export async function onServer(url: string, statement: string): Promise<void> {
  const client = await openClient(url);
  await client.query(statement).finally(() => client.end());
}

/** Makes a pooler open two connections to the database at once, between which transactions go to and fro from then on. */
async function spread(url: string): Promise<void> {
  const clients = await Promise.all([openClient(url), openClient(url)]);
  await Promise.all(clients.map((client) => client.query('BEGIN')));
  await Promise.all(clients.map((client) => client.query('ROLLBACK').then(() => client.end())));
}
