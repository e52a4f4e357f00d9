import type { JobDetails } from '../queue/get.ts';

/** A job as JSON. Payload and result go in as Postgres wrote them: parsing would round what JavaScript cannot hold. */
export function jobJson({ payload, result, ...job }: JobDetails): string {
  const parts = [JSON.stringify(job).slice(1, -1)];
  if (payload !== undefined) parts.push(`"payload":${payload ?? 'null'}`);
  if (result !== undefined) parts.push(`"result":${result ?? 'null'}`);
  return `{${parts.join(',')}}`;
}
