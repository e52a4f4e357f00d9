/** Reads a stage of a secret of Secrets Manager anew at each call: its text, undefined if it holds none. */
export async function readSecretText(arn: string, stage = 'AWSCURRENT'): Promise<string | undefined> {
  // The client is the larger part of a bundle, and on a machine without AWS nobody needs it.
  const { GetSecretValueCommand, SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 3000 },
  });
  try {
    return (await client.send(new GetSecretValueCommand({ SecretId: arn, VersionStage: stage }))).SecretString;
  } finally {
    client.destroy();
  }
}
