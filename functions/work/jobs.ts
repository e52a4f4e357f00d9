import { type Jobs, jobsOf } from './jobs-of.ts';

/**
 * The contracts and processors of the queue, evaluated at the first call: what they read from `process.env` at the top of a
 * module must be there by then. A module that throws is not evaluated again in this process, and throws the same each time.
 */
export async function loadJobs(): Promise<Jobs> {
  const contracts = await import('#contracts');
  const processors = await import('#processors');
  return jobsOf(contracts, processors);
}
