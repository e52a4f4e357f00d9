import { readContractSecrets } from '../lambda/contract-secrets.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { logOf } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { CodecError } from '../queue/codec.ts';
import { enqueueBatch } from './batch.ts';
import { contracts } from './contracts.ts';
import { enqueueOne } from './one.ts';

/** `POST /jobs` and `POST /jobs/batch`: put jobs in. */
export const handler = databaseHttp('enqueue', async (event, db) => {
  await readContractSecrets(contracts, logOf('enqueue', event));
  const enqueue = event.routeKey === 'POST /jobs/batch' ? enqueueBatch : enqueueOne;
  return enqueue(event, db).catch(codecProblem);
});

/** Nothing is wrong with the request. Without a cause: what a codec throws may quote the payload, and the log must not. */
function codecProblem(error: unknown): never {
  if (!(error instanceof CodecError)) throw error;
  throw new ProblemError('internal-error', `A payload could not be sealed, so nothing was stored: ${error.message}.`);
}
