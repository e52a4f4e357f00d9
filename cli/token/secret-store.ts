import { randomUUID } from 'node:crypto';
import { type Change, parseTokens, textOfTokens } from '../../local/token-changes.ts';
import { CliError } from '../cli-error.ts';
import { type SecretsManager, secretsManager, told } from './secrets-manager.ts';
import type { TokenStore } from './store.ts';

/** Where a new version waits to become the current one. It stays on it afterwards, and does no harm there. */
const LABEL = 'MILLRACE_NEXT';
/** Others who change it at the same time are rare. */
const TRIES = 5;

interface Current {
  readonly version: string;
  readonly text: string;
}

/**
 * The secret of a deployment. PutSecretValue alone would undo what somebody else has put since it was read, and has no condition
 * against it. UpdateSecretVersionStage has one: a label moves only from the version that it is said to be on (API reference of
 * Secrets Manager, RemoveFromVersionId). So the new version gets a label of its own first, and then AWSCURRENT, if that is still
 * where it was when it was read.
 */
export function secretStore(secret: string, region: string | undefined): TokenStore {
  const open = () => secretsManager(secret, region);
  return {
    place: secret,
    read: () => using(open, secret, async (aws) => parseTokens(secret, (await current(aws, secret)).text)),
    change: (to) => using(open, secret, (aws) => change(aws, secret, to)),
  };
}

async function change(aws: SecretsManager, secret: string, to: Change): Promise<void> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const { version, text } = await current(aws, secret);
    const next = textOfTokens(to(parseTokens(secret, text)));
    if (await replaced(aws, secret, version, next)) return;
  }
  throw new CliError(`${secret} changes all the time: nothing was changed by this command, try again.`);
}

async function current({ client, sdk }: SecretsManager, secret: string): Promise<Current> {
  const answer = await client.send(new sdk.GetSecretValueCommand({ SecretId: secret }));
  return { version: String(answer.VersionId), text: answer.SecretString ?? '' };
}

/** Resolves false if another version is current by now. */
async function replaced(aws: SecretsManager, secret: string, version: string, text: string): Promise<boolean> {
  const { client, sdk } = aws;
  const next = randomUUID();
  const put = { SecretId: secret, SecretString: text, ClientRequestToken: next, VersionStages: [LABEL] };
  await client.send(new sdk.PutSecretValueCommand(put));
  const move = { SecretId: secret, VersionStage: 'AWSCURRENT', MoveToVersionId: next, RemoveFromVersionId: version };
  try {
    await client.send(new sdk.UpdateSecretVersionStageCommand(move));
    return true;
  } catch (error) {
    // Also how a second try is answered whose first one went through and whose answer got lost.
    const now = await current(aws, secret);
    if (now.version === next) return true;
    if (now.version !== version) return false;
    throw error;
  }
}

async function using<T>(
  open: () => SecretsManager,
  secret: string,
  use: (aws: SecretsManager) => Promise<T>,
): Promise<T> {
  const aws = open();
  try {
    return await use(aws);
  } catch (error) {
    throw told(error, secret);
  } finally {
    aws.client.destroy();
  }
}
