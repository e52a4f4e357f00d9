import { type Database, resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { type HttpAnswer, jsonText } from '../lambda/http.ts';
import { jobIdOf, noSuchJob } from '../lambda/job-id.ts';
import { jobJson } from '../lambda/job-json.ts';
import { ProblemError } from '../lambda/problems.ts';
import { cancel } from '../queue/cancel.ts';
import { get } from '../queue/get.ts';
import type { JobId, Status } from '../queue/job.ts';
import { redrive } from '../queue/redrive.ts';

/** `POST /jobs/{id}/cancel` and `POST /jobs/{id}/redrive`; each answers with the job. */
export const handler = databaseHttp('manage', (event, db) =>
  event.routeKey === 'POST /jobs/{id}/cancel' ? cancelOne(jobIdOf(event), db) : redriveOne(jobIdOf(event), db),
);

/** 200: it is cancelled. 202: it runs, and was asked to stop. */
async function cancelOne(id: JobId, db: Database): Promise<HttpAnswer> {
  const answer = await resent(() => cancel(db, id));
  if (answer === undefined) throw noSuchJob(id);
  if (typeof answer === 'object')
    throw wrongState(answer.wrongState, 'Only pending and processing jobs can be cancelled');
  return jobAnswer(answer === 'cancelled' ? 200 : 202, id, db);
}

/** Not sent again after a lost answer: a second time it would find its own work and call it the wrong state. */
async function redriveOne(id: JobId, db: Database): Promise<HttpAnswer> {
  const answer = await redrive(db, id);
  if (answer === undefined) throw noSuchJob(id);
  if (typeof answer === 'object') throw wrongState(answer.wrongState, 'Only dead jobs can be redriven');
  return jobAnswer(200, id, db);
}

function wrongState(status: Status, rule: string): ProblemError {
  return new ProblemError('wrong-state', `${rule}; this one is ${status}.`, { members: { job_status: status } });
}

async function jobAnswer(statusCode: number, id: JobId, db: Database): Promise<HttpAnswer> {
  const job = await resent(() => get(db, id));
  if (job === undefined) throw noSuchJob(id);
  return jsonText(statusCode, jobJson(job));
}
