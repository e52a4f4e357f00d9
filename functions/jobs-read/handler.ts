import { hasRole, requireRole } from '../lambda/caller.ts';
import { type Database, resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { type HttpAnswer, type HttpEvent, type Invocation, json, jsonText } from '../lambda/http.ts';
import { jobIdOf, noSuchJob } from '../lambda/job-id.ts';
import { jobJson } from '../lambda/job-json.ts';
import { ProblemError } from '../lambda/problems.ts';
import { queryOf } from '../lambda/query.ts';
import { CONTENT_ROLES } from '../lambda/routes.ts';
import { COUNT_LIMIT, counts } from '../queue/counts.ts';
import { get } from '../queue/get.ts';
import { list } from '../queue/list.ts';
import { getQuery } from './get-query.ts';
import { cursorAfter, listingOf } from './list-query.ts';
import { schedules } from './schedules.ts';
import { legibleRow, unsealed, unsealedRows } from './unsealed.ts';
import { readOnceEnded } from './wait.ts';

/** `GET /jobs/{id}`, `GET /jobs` and `GET /schedules`. */
export const handler = databaseHttp('jobs-read', (event, db, invocation) => {
  if (event.routeKey === 'GET /schedules') return schedules(event, db);
  return event.routeKey === 'GET /jobs/{id}' ? one(event, db, invocation) : many(event, db);
});

async function one(event: HttpEvent, db: Database, invocation: Invocation): Promise<HttpAnswer> {
  const id = jobIdOf(event);
  const { include, wait } = queryOf(event, getQuery);
  if (include.length > 0) requireRole(event, CONTENT_ROLES);
  const parts = { payload: include.includes('payload'), result: include.includes('result') };
  const read = () => resent(() => get(db, id, parts));
  const { job, crowded } = await readOnceEnded(read, db, wait, invocation);
  if (job === undefined) throw noSuchJob(id);
  const body = jobJson(hasRole(event, CONTENT_ROLES) ? await unsealed(event, job) : job);
  refuseTooLong(body);
  return jsonText(200, body, crowded ? { 'retry-after': '1' } : {});
}

/** Bytes that a Lambda may return, less some for what surrounds the body. */
const ANSWER_MAX_BYTES = 6 * 1024 * 1024 - 8192;

/**
 * The gateway would say a bare 500. SQL takes payloads of 4 MiB, and what counts is the body as JSON text in the function's
 * answer, with each quote escaped.
 */
function refuseTooLong(body: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes <= ANSWER_MAX_BYTES) return;
  throw new ProblemError(
    'too-large',
    `With what was to be included the answer has ${bytes} bytes, and may have ${ANSWER_MAX_BYTES}: ` +
      'leave out include, or read the view millrace.jobs by SQL.',
  );
}

async function many(event: HttpEvent, db: Database): Promise<HttpAnswer> {
  const { listing, counted } = listingOf(event);
  const { jobs: listed, next } = await resent(() => list(db, listing));
  const jobs = hasRole(event, CONTENT_ROLES) ? await unsealedRows(event, listed) : listed.map(legibleRow);
  const cursor = next === undefined ? null : cursorAfter(listing, next);
  const numbers = counted ? { counts: await resent(() => counts(db, listing)), counts_limit: COUNT_LIMIT } : {};
  return json(200, { jobs, next_cursor: cursor, ...numbers }, cursor === null ? {} : { link: nextLink(event, cursor) });
}

function nextLink(event: HttpEvent, cursor: string): string {
  const query = new URLSearchParams(event.rawQueryString);
  query.set('cursor', cursor);
  return `</jobs?${query}>; rel="next"`;
}
