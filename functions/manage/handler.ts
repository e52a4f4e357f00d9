import { callerOf } from '../lambda/caller.ts';
import { type Database, resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { type HttpAnswer, type HttpEvent, json } from '../lambda/http.ts';
import { jobIdOf, noSuchJob } from '../lambda/job-id.ts';
import { ProblemError } from '../lambda/problems.ts';
import { requestIdOf } from '../lambda/request-id.ts';
import { isBlocked } from '../queue/around-blocked.ts';
import { cancel } from '../queue/cancel.ts';
import { erase } from '../queue/erase.ts';
import type { Status } from '../queue/job.ts';
import type { Operator } from '../queue/operator.ts';
import { redrive } from '../queue/redrive.ts';
import { countRedrivable, redriveMany } from '../queue/redrive-many.ts';
import { fire } from './fire.ts';
import { jobAnswer, jobOf } from './job-answer.ts';
import { pausing } from './pausing.ts';
import { cursorAfter } from './redrive-cursor.ts';
import { redriveRequestOf } from './redrive-request.ts';
import { wakeWorkers } from './wake-workers.ts';

/** What is harmless to send again because operator_log knows the request: see operator.ts. */
type Answer = (event: HttpEvent, db: Database, by: Operator) => Promise<HttpAnswer>;

const ANSWERS: Readonly<Record<string, Answer>> = {
  'POST /jobs/{id}/cancel': cancelOne,
  'POST /jobs/{id}/redrive': redriveOne,
  'POST /jobs/redrive': redriveFiltered,
  'DELETE /jobs/{id}': eraseOne,
  'POST /queues/{name}/pause': pausing('queue', true),
  'POST /queues/{name}/resume': pausing('queue', false),
  'POST /kinds/{name}/pause': pausing('kind', true),
  'POST /kinds/{name}/resume': pausing('kind', false),
  'POST /schedules/{name}/pause': pausing('schedule', true),
  'POST /schedules/{name}/resume': pausing('schedule', false),
  'POST /schedules/{name}/fire': fire,
};

/** What operators do. Each leaves a row in operator_log with the name of the caller and the id of the request. */
export const handler = databaseHttp('manage', async (event, db) => {
  const answer = ANSWERS[event.routeKey] as Answer;
  return answer(event, db, { actor: callerOf(event).name, requestId: requestIdOf(event) });
});

/** How long it waits for open transactions that hold the job or its unique key. */
const PATIENCE = '3s';

function inUse(error: unknown): never {
  if (!isBlocked(error)) throw error;
  throw new ProblemError('key-in-use', 'An open transaction holds the job or its unique key; try again shortly.', {
    cause: error,
  });
}

/** 200: it is cancelled. 202: it runs, and was asked to stop. */
async function cancelOne(event: HttpEvent, db: Database, by: Operator): Promise<HttpAnswer> {
  const id = jobIdOf(event);
  const answer = await resent(() => cancel(db, id, by, PATIENCE)).catch(inUse);
  if (answer === undefined) throw noSuchJob(id);
  if (typeof answer === 'object')
    throw wrongState(answer.wrongState, 'Only pending and processing jobs can be cancelled');
  return jobAnswer(answer === 'cancelled' ? 200 : 202, await jobOf(id, db));
}

async function redriveOne(event: HttpEvent, db: Database, by: Operator): Promise<HttpAnswer> {
  const id = jobIdOf(event);
  const answer = await resent(() => redrive(db, id, by, PATIENCE)).catch(inUse);
  if (answer === undefined) throw noSuchJob(id);
  if (answer === 'redriven') {
    const job = await jobOf(id, db);
    await wakeWorkers(event, db, [job.queue]);
    return jobAnswer(200, job);
  }
  if ('twin' in answer) {
    const detail = `The job ${answer.twin} has the same unique key and is pending; this one stays dead.`;
    throw new ProblemError('unique-key-taken', detail, { members: { job_id: answer.twin } });
  }
  throw wrongState(answer.wrongState, 'Only dead jobs can be redriven');
}

async function redriveFiltered(event: HttpEvent, db: Database, by: Operator): Promise<HttpAnswer> {
  const { dryRun, ...request } = redriveRequestOf(event);
  if (dryRun) {
    const { matched, next } = await resent(() => countRedrivable(db, request));
    return json(200, { matched, next_cursor: cursorAfter(request.filter, next) });
  }
  const { redriven, skipped, next } = await resent(() => redriveMany(db, request, by));
  // Of their queues nothing is known here.
  if (redriven > 0) await wakeWorkers(event, db, 'all');
  return json(200, { redriven, skipped, next_cursor: cursorAfter(request.filter, next) });
}

async function eraseOne(event: HttpEvent, db: Database, by: Operator): Promise<HttpAnswer> {
  const id = jobIdOf(event);
  const answer = await resent(() => erase(db, id, by));
  if (answer === undefined) throw noSuchJob(id);
  if (answer !== 'erased')
    throw wrongState(answer.wrongState, 'Only jobs that have ended can be erased; cancel it first');
  return { statusCode: 204, headers: { 'cache-control': 'no-store' } };
}

function wrongState(status: Status, rule: string): ProblemError {
  return new ProblemError('wrong-state', `${rule}; this one is ${status}.`, { members: { job_status: status } });
}
