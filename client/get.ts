import type { Job, JobWith, Part } from './job.ts';
import { type Call, pathOf } from './request.ts';

/** @throws if the answer is no job */
export function readJob<J extends Job>(job: J): J {
  if (typeof job.id !== 'string' || typeof job.status !== 'string') throw new Error('no job');
  return job;
}

export function getCall<P extends Part>(id: string, include: readonly P[] = []): Call<JobWith<P>> {
  return {
    method: 'GET',
    path: pathOf`/jobs/${id}`,
    query: { include: include.length > 0 ? include.join() : undefined },
    read: readJob<JobWith<P>>,
  };
}
