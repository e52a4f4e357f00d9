import { resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { json } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { queryOf } from '../lambda/query.ts';
import { SCHEMA_VERSION } from '../lambda/schema-version.ts';
import { readiness } from '../queue/readiness.ts';
import { StateMarks } from '../queue/state-marks.ts';
import { type Vitals, vitals } from '../queue/vitals.ts';
import { readyQuery } from './ready-query.ts';

const marks = new StateMarks();

/**
 * `GET /ready`: 200 while jobs can be put in and worked on, with what a person would look at next: a lag or a kind that
 * nobody claims is no reason to take the API away. 503 for the database or its schema only.
 */
export const handler = databaseHttp('ready', async (event, db) => {
  const { include } = queryOf(event, readyQuery);
  const state = await resent(() => readiness(db, marks));
  if (state.schemaVersion < SCHEMA_VERSION) {
    throw new ProblemError(
      'schema-outdated',
      `The database has migration ${state.schemaVersion} and needs ${SCHEMA_VERSION}: run the migrations.`,
    );
  }
  return json(200, {
    status: 'ready',
    schema_version: state.schemaVersion,
    lag_seconds: state.lagSeconds,
    paused: state.paused,
    unclaimed_kinds: state.unclaimedKinds,
    unclaimed_queues: state.unclaimedQueues,
    last_worker_at: state.lastWorkerAt,
    ...(include && { database: shown(await resent(() => vitals(db))) }),
  });
});

function shown(state: Vitals) {
  return {
    postgres_version: state.postgresVersion,
    tls: state.tls,
    connections: state.connections,
    database_connections: state.databaseConnections,
    max_connections: state.maxConnections,
    xmin_age: state.xminAge,
    autovacuum: state.autovacuum,
    autovacuum_off: state.autovacuumOff,
    last_autovacuum_at: state.lastAutovacuumAt,
    dead_rows: state.deadRows,
    partition_days_ahead: state.partitionDaysAhead,
  };
}
