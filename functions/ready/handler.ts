import { resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { json } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { SCHEMA_VERSION } from '../lambda/schema-version.ts';
import { readiness } from '../queue/readiness.ts';

/**
 * `GET /ready`: 200 while jobs can be put in and worked on, with what a person would look at next: a lag or a kind that
 * nobody claims is no reason to take the API away. 503 for the database or its schema only.
 */
export const handler = databaseHttp('ready', async (_event, db) => {
  const state = await resent(() => readiness(db));
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
  });
});
