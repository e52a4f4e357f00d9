import { withSecretsManager } from './secrets-manager.ts';

/** Reads a stage of a secret of Secrets Manager anew at each call: its text, undefined if it holds none. */
export function readSecretText(arn: string, stage = 'AWSCURRENT'): Promise<string | undefined> {
  return withSecretsManager(async (client, { GetSecretValueCommand }) => {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn, VersionStage: stage }));
    return SecretString;
  });
}
