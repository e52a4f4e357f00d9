import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CliError, EXIT } from '../cli-error.ts';

export type Sdk = typeof import('@aws-sdk/client-secrets-manager');

/** The package brings no AWS SDK: 5 MB that few need here. The project's own, whose credentials work as for all of AWS's tools. */
const SDK = '@aws-sdk/client-secrets-manager';
/** What the login must be allowed, as IAM names it. */
const ACTIONS = 'GetSecretValue, PutSecretValue and UpdateSecretVersionStage';

export interface SecretsManager {
  readonly client: SecretsManagerClient;
  readonly sdk: Sdk;
}

/** @throws CliError if the SDK is not installed where the command runs */
export function secretsManager(secret: string, region: string | undefined, directory = process.cwd()): SecretsManager {
  const sdk = loaded(directory);
  const client = new sdk.SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 5000, requestTimeout: 10_000, throwOnRequestTimeout: true },
    ...regionOf(secret, region),
  });
  return { client, sdk };
}

function loaded(directory: string): Sdk {
  try {
    return createRequire(join(directory, 'package.json'))(SDK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new CliError(
      `--secret needs the AWS SDK, and there is none in ${directory}: npm install --no-save ${SDK}`,
      EXIT.failed,
      { cause: error },
    );
  }
}

/** An ARN says where it is; without one, AWS_REGION or the profile does. */
function regionOf(secret: string, region: string | undefined): { region?: string } {
  const named = region ?? /^arn:[\w-]+:secretsmanager:([\w-]+):/.exec(secret)?.[1];
  return named === undefined ? {} : { region: named };
}

/** In a sentence, with what to do. */
export function told(error: unknown, secret: string): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;
  const { name, message } = error;
  const of = (hint: string, exitCode: CliError['exitCode']) =>
    new CliError(hint, exitCode, { code: name, cause: error });
  if (name === 'ResourceNotFoundException') {
    return of(
      `There is no secret ${secret}: the output TokensSecretArn of the stack names it. (${message})`,
      EXIT.failed,
    );
  }
  if (name === 'AccessDeniedException') {
    return of(`The login of AWS must be allowed ${ACTIONS} on ${secret}. It says: ${message}`, EXIT.unreachable);
  }
  if (name === 'CredentialsProviderError') {
    return of(
      `No credentials of AWS: does "aws sts get-caller-identity" answer in this shell? (${message})`,
      EXIT.unreachable,
    );
  }
  if (message === 'Region is missing') return of('Give --region, or the ARN of the secret.', EXIT.usage);
  const isAnswer = '$metadata' in error || 'code' in error || name === 'TimeoutError';
  return isAnswer ? of(`Secrets Manager, for ${secret}: ${name}: ${message}`, EXIT.unreachable) : error;
}
