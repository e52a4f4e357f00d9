import type { Context } from './context.ts';
import type { ClaimedJob } from './job.ts';

/** As `millrace.put_scheduled` writes it in the place of a request's id (migrations/0014). */
const OF_SCHEDULE = /^schedule\/([^/]+)\/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

/** Which schedule put a job in, and for which fire time: a claim carries it as the id of the request. */
export function scheduleOf({ requestId }: Pick<ClaimedJob, 'requestId'>): Context['job']['schedule'] {
  if (requestId === null || !requestId.startsWith('schedule/')) return null;
  const [, name, fireAt] = OF_SCHEDULE.exec(requestId) ?? [];
  return name === undefined || fireAt === undefined ? null : { name, fireAt };
}

/** The other way round. */
export function requestIdOf({ name, fireAt }: NonNullable<Context['job']['schedule']>): string {
  return `schedule/${name}/${new Date(fireAt).toISOString()}`;
}
