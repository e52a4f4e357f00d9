import type { Database } from '../lambda/database.ts';
import { type HttpAnswer, type HttpEvent, json } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { jsonListBody } from '../lambda/request-body.ts';
import type { NewJob } from '../queue/enqueue.ts';
import { type Flaw, MAX_FLAWS } from '../queue/flaws.ts';
import { batchRequest } from '../queue/job-request.ts';
import { jsonFlaws } from '../queue/json.ts';
import { validate } from '../queue/validate.ts';
import { flawsOfIssues } from '../queue/zod-flaws.ts';
import { contracts } from './contracts.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { put } from './put.ts';
import { settings } from './settings.ts';
import { wakeWorkers } from './wake-workers.ts';

/** What API Gateway hands on to a function ends at 6 MB, in which a body of many quotes may take half as much again. */
const MAX_BYTES = 4 * 1024 * 1024;
/** The object and its array around each job. */
const LEVELS = 2;

/** 201 and the ids in order; 200 if all of them were there already. */
export async function enqueueBatch(event: HttpEvent, db: Database): Promise<HttpAnswer> {
  const jobs = await requestedJobs(itemsOf(event));
  const enqueued = await put(db, event, jobs, placeOf);
  await wakeWorkers(event, db, jobs, enqueued);
  const status = enqueued.some(({ outcome, pruned }) => outcome === 'created' && !pruned) ? 201 : 200;
  return json(status, {
    jobs: enqueued.map(({ id, outcome, pruned }) => ({ id, outcome, ...(pruned && { pruned }) })),
  });
}

function itemsOf(event: HttpEvent): unknown[] {
  if (idempotencyKeyOf(event) !== undefined) {
    throw new ProblemError(
      'invalid-job',
      'Leave out the header Idempotency-Key: each item has its own idempotency_key.',
    );
  }
  const { data, error } = batchRequest.safeParse(jsonListBody(event, { maxBytes: MAX_BYTES, levels: LEVELS }));
  if (error === undefined) return data.jobs;
  throw new ProblemError('invalid-job', 'Send { "jobs": [ … ] } with 1 to 1,000 jobs; look at errors.', {
    flaws: flawsOfIssues(error.issues),
  });
}

/** @throws ProblemError that names every bad one */
async function requestedJobs(items: readonly unknown[]): Promise<NewJob[]> {
  const jobs: NewJob[] = [];
  const bad: { index: number; flaws: readonly Flaw[] }[] = [];
  for (const [index, item] of items.entries()) {
    const looked = await look(item);
    if ('job' in looked) jobs.push(looked.job);
    else bad.push({ index, flaws: looked.flaws });
  }
  if (bad.length === 0) return jobs;
  throw new ProblemError(
    'invalid-job',
    `${bad.length} of ${items.length} jobs cannot be taken, so none was; look at errors.`,
    { flaws: bad.flatMap(({ index, flaws }) => shown(index, flaws, MAX_FLAWS / bad.length)) },
  );
}

async function look(item: unknown): Promise<{ job: NewJob } | { flaws: readonly Flaw[] }> {
  const unstorable = jsonFlaws(item);
  if (unstorable.length > 0) return { flaws: unstorable };
  const payloadMaxBytes = settings().PAYLOAD_MAX_BYTES;
  const validated = await validate(item, contracts, { payloadMaxBytes });
  switch (validated.kind) {
    case 'valid':
      return validated;
    case 'too_large': {
      const detail = `has ${validated.payloadBytes} bytes as JSON and may have ${payloadMaxBytes}`;
      return { flaws: [{ pointer: '/payload', detail }] };
    }
    default:
      return validated;
  }
}

/** So that a thousand bad items make no answer of megabytes, which Lambda would not take. */
const CHARACTERS = 300;

/** At most `most` flaws of an item, but one at least. */
function shown(index: number, flaws: readonly Flaw[], most: number): (Flaw & { index: number })[] {
  return flaws.slice(0, Math.max(1, Math.floor(most))).map(({ pointer, detail }) => ({
    index,
    pointer: placeOf(index).pointer + (pointer.length > CHARACTERS ? '' : pointer),
    detail: detail.slice(0, CHARACTERS),
  }));
}

function placeOf(index: number) {
  return { index, pointer: `/jobs/${index}` };
}
