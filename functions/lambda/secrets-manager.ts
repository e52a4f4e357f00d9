import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

type Sdk = typeof import('#sdk/secrets-manager');

/**
 * Talks to Secrets Manager: at most three tries of 3 s each. The SDK waits between them, longer when it is throttled.
 * @param talk what to ask, with the client and the SDK's commands
 */
export async function withSecretsManager<Answer>(
  talk: (client: SecretsManagerClient, sdk: Sdk) => Promise<Answer>,
): Promise<Answer> {
  // The client is the larger part of a bundle, and on a machine without AWS nobody needs it.
  const sdk = await import('#sdk/secrets-manager');
  const client = new sdk.SecretsManagerClient({
    maxAttempts: 3,
    // Without the last of them a request that takes too long is only warned of, and goes on.
    requestHandler: { connectionTimeout: 2000, requestTimeout: 3000, throwOnRequestTimeout: true },
  });
  try {
    return await talk(client, sdk);
  } finally {
    client.destroy();
  }
}
