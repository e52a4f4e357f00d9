import type { JobId } from '../queue/job.ts';
import type { HttpEvent } from './http.ts';
import { ProblemError } from './problems.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The `{id}` of the path. Any UUID: ids given by SQL need not be of version 7. */
export function jobIdOf(event: HttpEvent): JobId {
  const id = event.pathParameters?.id ?? '';
  if (!UUID.test(id)) {
    throw new ProblemError(
      'invalid-id',
      'The path must hold the id of a job, such as 01920b7e-5c4a-7d3e-8f21-0a1b2c3d4e5f.',
    );
  }
  return id.toLowerCase();
}

export function noSuchJob(id: JobId): ProblemError {
  return new ProblemError('no-such-job', `No job has the id ${id}, or its retention is over.`);
}
