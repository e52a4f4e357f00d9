import type { JobDetails } from '../queue/get.ts';
import type { AttemptError } from '../queue/job.ts';

/** A job as JSON. Payload and result go in as Postgres wrote them: parsing would round what JavaScript cannot hold. */
export function jobJson({ payload, result, ...job }: JobDetails): string {
  const parts = [JSON.stringify({ ...job, errors: job.errors.map(legible) }).slice(1, -1)];
  if (payload !== undefined) parts.push(`"payload":${payload ?? 'null'}`);
  if (result !== undefined) parts.push(`"result":${result ?? 'null'}`);
  return `{${parts.join(',')}}`;
}

/** An error without its envelope, if it is sealed: nobody can read that here. What it says instead is `sealed`. */
export function legible<E extends Omit<AttemptError, 'stack'>>(error: E): E {
  const { sealed, ...rest } = error as E & { sealed?: unknown };
  return rest as unknown as E;
}
