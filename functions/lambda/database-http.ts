import { Database } from './database.ts';
import { databaseProblem } from './database-problem.ts';
import { databaseEnv, readEnv } from './env.ts';
import { type HttpAnswer, type HttpEvent, type HttpHandler, http, type Invocation } from './http.ts';
import { once } from './once.ts';

/** A handler whose requests use the database: one connection for the life of the sandbox, opened by the first. */
export function databaseHttp(
  name: string,
  answer: (event: HttpEvent, db: Database, invocation: Invocation) => Promise<HttpAnswer>,
): HttpHandler {
  const database = once(() => new Database(readEnv(databaseEnv), name));
  return http({ name, problemOf: databaseProblem, onTimeout: () => database().reset() }, (event, invocation) =>
    answer(event, database(), invocation),
  );
}
