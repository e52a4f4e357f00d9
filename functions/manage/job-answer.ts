import { type Database, resent } from '../lambda/database.ts';
import { type HttpAnswer, jsonText } from '../lambda/http.ts';
import { noSuchJob } from '../lambda/job-id.ts';
import { jobJson } from '../lambda/job-json.ts';
import { get, type JobDetails } from '../queue/get.ts';
import type { JobId } from '../queue/job.ts';

/** The job as it is after what was done to it. @throws ProblemError if it is gone by now */
export async function jobOf(id: JobId, db: Database): Promise<JobDetails> {
  const job = await resent(() => get(db, id));
  if (job === undefined) throw noSuchJob(id);
  return job;
}

export function jobAnswer(statusCode: number, job: JobDetails, headers: Record<string, string> = {}): HttpAnswer {
  return jsonText(statusCode, jobJson(job), headers);
}
