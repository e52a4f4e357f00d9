import * as z from 'zod';
import { type Database, resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { type HttpAnswer, type HttpEvent, json, jsonText } from '../lambda/http.ts';
import { jobIdOf, noSuchJob } from '../lambda/job-id.ts';
import { jobJson } from '../lambda/job-json.ts';
import { ProblemError } from '../lambda/problems.ts';
import { queryOf } from '../lambda/query.ts';
import { get } from '../queue/get.ts';
import { list } from '../queue/list.ts';
import { cursorAfter, listingOf } from './list-query.ts';

/** `GET /jobs/{id}` and `GET /jobs`. */
export const handler = databaseHttp('jobs-read', (event, db) =>
  event.routeKey === 'GET /jobs/{id}' ? one(event, db) : many(event, db),
);

const PARTS = ['payload', 'result'];

const getQuery = z.strictObject({
  include: z
    .string()
    .transform((text) => text.split(','))
    .refine((parts) => parts.every((part) => PARTS.includes(part)), 'must name payload, result or both, by a comma')
    .default([]),
});

async function one(event: HttpEvent, db: Database): Promise<HttpAnswer> {
  const id = jobIdOf(event);
  const { include } = queryOf(event, getQuery);
  const parts = { payload: include.includes('payload'), result: include.includes('result') };
  const job = await resent(() => get(db, id, parts));
  if (job === undefined) throw noSuchJob(id);
  const body = jobJson(job);
  refuseTooLong(body);
  return jsonText(200, body);
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
  const listing = listingOf(event);
  const { jobs, next } = await resent(() => list(db, listing));
  if (next === undefined) return json(200, { jobs, next_cursor: null });
  const cursor = cursorAfter(listing, next);
  const query = new URLSearchParams(event.rawQueryString);
  query.set('cursor', cursor);
  return json(200, { jobs, next_cursor: cursor }, { link: `</jobs?${query}>; rel="next"` });
}
