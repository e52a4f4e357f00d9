import type { Log } from '../queue/context.ts';
import type { Contracts } from '../queue/contract.ts';
import { contractsEnv, readEnv } from './env.ts';
import { putSecretsIntoEnv } from './secrets-into-env.ts';
import { within } from './within.ts';

/** Milliseconds. Kinds without a codec are worth no longer wait. */
const PATIENCE_MS = 3000;

/**
 * Gives the codecs of contracts the secrets that they read from `process.env`. One that cannot be read is told to the log, and
 * the codec that misses it says so itself: other kinds do not need it.
 */
export async function readContractSecrets(contracts: Contracts, log: Log): Promise<void> {
  if (Object.values(contracts).every(({ codec }) => codec === undefined)) return;
  const { CONTRACT_SECRETS: arns = {} } = readEnv(contractsEnv);
  const read = () => putSecretsIntoEnv(arns, log);
  await within(PATIENCE_MS, read, `Secrets Manager did not answer within ${PATIENCE_MS} ms`).catch((error) =>
    log.error('a secret that contracts read cannot be read', { error }),
  );
}
