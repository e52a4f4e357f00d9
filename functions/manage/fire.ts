import { type Database, resent } from '../lambda/database.ts';
import type { HttpAnswer, HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { fireByHand } from '../queue/fire-by-hand.ts';
import type { Operator } from '../queue/operator.ts';
import { jobAnswer, jobOf } from './job-answer.ts';
import { noSuchSchedule } from './no-such-schedule.ts';
import { nameOf } from './path-name.ts';
import { wakeWorkers } from './wake-workers.ts';

/** 409 while one of its jobs is pending or runs, unless it lets them overlap. */
export async function fire(event: HttpEvent, db: Database, by: Operator): Promise<HttpAnswer> {
  const name = nameOf(event, 'schedule');
  const answer = await resent(() => fireByHand(db, name, by));
  if (answer === undefined) throw noSuchSchedule(name);
  if (answer.outcome === 'overlap') {
    const detail = `Its job ${answer.jobId} has not ended, and its jobs do not overlap; nothing was made.`;
    throw new ProblemError('schedule-overlap', detail, { members: { job_id: answer.jobId } });
  }
  const job = await jobOf(answer.jobId, db);
  await wakeWorkers(event, db, [job.queue]);
  return jobAnswer(201, job, { location: `/jobs/${job.id}` });
}
