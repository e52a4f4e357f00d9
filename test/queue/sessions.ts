import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';

export interface Session extends Db {
  /** In pg_stat_activity. A pid would not do: through a pooler, each transaction has another. */
  readonly applicationName: string;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Runs `body` with two connections of its own, for what needs two transactions at once. */
export async function withSessions<T>(url: string, body: (first: Session, second: Session) => Promise<T>): Promise<T> {
  const clients = [named(url), named(url)] as const;
  try {
    return await body(await opened(...clients[0]), await opened(...clients[1]));
  } finally {
    await Promise.all(clients.map(([client]) => client.end()));
  }
}

function named(url: string): [pg.Client, string] {
  const name = `session-${randomUUID()}`;
  return [new pg.Client({ connectionString: url, application_name: name }), name];
}

async function opened(client: pg.Client, applicationName: string): Promise<Session> {
  await client.connect();
  const run = async (text: string) => void (await client.query(text));
  return {
    applicationName,
    query: (text, values) => client.query(text, values),
    begin: () => run('BEGIN'),
    commit: () => run('COMMIT'),
    rollback: () => run('ROLLBACK'),
  };
}

/** Resolves once the session's statement waits for another's lock: only then is a race what the test says it is. */
export async function waitsForLock(db: Db, { applicationName }: Session): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    const { rowCount } = await db.query(
      `SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
      [applicationName],
    );
    if (rowCount) return;
    // Within a transaction the view stays as it was first seen.
    await db.query('SELECT pg_stat_clear_snapshot()');
    await sleep(5);
  }
  throw new Error('the statement that was to wait for a lock does not wait');
}

/**
 * What `second` answers when it comes while `first` has not committed yet: it is seen to wait, then `first` commits.
 * Resolves both answers.
 */
export async function inTurn<A, B>(
  url: string,
  first: (session: Db) => Promise<A>,
  second: (session: Db) => Promise<B>,
): Promise<[A, B]> {
  return withSessions(url, async (one, other) => {
    await one.begin();
    const answer = await first(one);
    const waiting = second(other);
    await waitsForLock(one, other);
    await one.commit();
    return [answer, await waiting];
  });
}
