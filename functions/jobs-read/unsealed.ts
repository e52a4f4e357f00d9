import { readContractSecrets } from '../lambda/contract-secrets.ts';
import { type HttpEvent, logOf } from '../lambda/http.ts';
import { legible } from '../lambda/job-json.ts';
import type { Log } from '../queue/context.ts';
import type { Contracts } from '../queue/contract.ts';
import type { JobDetails } from '../queue/get.ts';
import type { AttemptError } from '../queue/job.ts';
import type { ListedJob } from '../queue/job-view.ts';
import { type Open, openEnvelope, unsealText, unsealWith } from '../queue/unseal.ts';

/*
 * What is sealed, for those who may see payloads and results. What cannot be opened (the kind is gone, or its key) stays as it
 * is stored: a job must be found and managed all the same. The log says why. Contracts and their secrets are read when there
 * is something to open, never earlier: what lies in the clear is answered without them.
 */

export async function unsealed(event: HttpEvent, job: JobDetails): Promise<JobDetails> {
  const open = opener(event);
  const { payload, result } = job;
  return {
    ...job,
    errors: (await unsealWith(open, job.errors)) as AttemptError[],
    ...(typeof payload === 'string' && { payload: await unsealText(open, payload) }),
    ...(typeof result === 'string' && { result: await unsealText(open, result) }),
  };
}

/** A listing has no stacks. */
export async function unsealedRows(event: HttpEvent, rows: readonly ListedJob[]): Promise<ListedJob[]> {
  const open = opener(event);
  const unsealedRow = async (row: ListedJob) => {
    const error = (await unsealWith(open, row.last_error)) as AttemptError | null;
    if (error === null) return row;
    const { stack: _, ...last_error } = error;
    return legibleRow({ ...row, last_error });
  };
  return Promise.all(rows.map(unsealedRow));
}

export function legibleRow(row: ListedJob): ListedJob {
  return row.last_error === null ? row : { ...row, last_error: legible(row.last_error) };
}

function opener(event: HttpEvent): Open {
  const log = logOf('jobs-read', event);
  let known: Promise<Contracts> | undefined;
  let told = false;
  return async (envelope) => {
    try {
      known ??= readContracts(log);
      return await openEnvelope(await known, envelope);
    } catch (error) {
      if (!told) log.warn('a sealed value is answered as it is stored', { reason: (error as Error).message });
      told = true;
      return envelope;
    }
  };
}

async function readContracts(log: Log): Promise<Contracts> {
  const { contracts } = await import('#contracts');
  await readContractSecrets(contracts, log);
  return contracts;
}
