import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '../functions/lambda/configuration-error.ts';
import type { Db } from '../functions/queue/db.ts';
import type { Operator } from '../functions/queue/operator.ts';
import { faultOf } from '../functions/queue/postgres-error.ts';
import { SteadyConnection } from '../functions/queue/steady-connection.ts';
import type { Doing } from './doing.ts';
import type { QueueAccess } from './queue.ts';
import { actingBySql } from './sql-acting.ts';
import { sqlFailure } from './sql-failure.ts';
import { pausingBySql } from './sql-pausing.ts';
import { readingBySql } from './sql-reading.ts';
import { schedulesBySql } from './sql-schedules.ts';
import type { SqlTarget } from './target.ts';

/** What a verb of the engine is called with here. */
export interface Sql {
  readonly by: Operator;
  /** Runs statements that are harmless to repeat; what fails is a CliError. */
  run<T>(doing: Doing, statements: (db: Db) => Promise<T>): Promise<T>;
}

/** Milliseconds that a statement may take, and a connect. */
const TIMEOUT_MS = 15_000;

/** The queue of a database, by the engine's own verbs over one connection, with TLS as functions/lambda/tls.ts has it. */
export function sqlQueue({ connect, where, actor }: SqlTarget): QueueAccess {
  const connection = new SteadyConnection(connect, () => TIMEOUT_MS);
  const by = { actor, requestId: `cli-${randomUUID()}` };
  const sql: Sql = {
    by,
    run: async (doing, statements) => {
      try {
        return await statements(connection).catch((error: unknown) => {
          if (faultOf(error) !== 'lost' || error instanceof ConfigurationError) throw error;
          return statements(connection);
        });
      } catch (error) {
        throw sqlFailure(error, doing, where);
      }
    },
  };
  return {
    by: 'sql',
    where,
    requestId: by.requestId,
    ...readingBySql(sql),
    ...actingBySql(sql),
    ...pausingBySql(sql),
    ...schedulesBySql(sql),
    close: () => connection.close(),
  };
}
