import * as z from 'zod';
import { ConfigurationError } from './env.ts';

/** As RDS and its rotation write it; a secret made by hand may leave out the port. */
const credentials = z.object({
  host: z.string(),
  port: z.coerce.number().int().min(1).max(65_535).default(5432),
  username: z.string(),
  password: z.string(),
  dbname: z.string().default('postgres'),
});
export type Credentials = z.infer<typeof credentials>;

/** During a rotation the database may already want the password that the secret still calls pending. */
export type Stage = 'AWSCURRENT' | 'AWSPENDING';

/** Resolves undefined if the secret has no such stage at the moment. */
export type ReadSecret = (stage: Stage) => Promise<Credentials | undefined>;

/** Reads a secret of Secrets Manager anew at each call; the caller keeps what it got. */
export function secretReader(arn: string): ReadSecret {
  return async (stage) => {
    // The client is the larger part of a bundle, and with DATABASE_URL nobody needs it.
    const { GetSecretValueCommand, ResourceNotFoundException, SecretsManagerClient } = await import(
      '@aws-sdk/client-secrets-manager'
    );
    const client = new SecretsManagerClient({
      maxAttempts: 3,
      requestHandler: { connectionTimeout: 2000, requestTimeout: 3000 },
    });
    try {
      const answer = await client.send(new GetSecretValueCommand({ SecretId: arn, VersionStage: stage }));
      return parse(answer.SecretString, arn);
    } catch (error) {
      if (stage === 'AWSPENDING' && error instanceof ResourceNotFoundException) return undefined;
      throw error;
    } finally {
      client.destroy();
    }
  };
}

/** What a wrong secret holds stays out of the message. */
function parse(text: string | undefined, arn: string): Credentials {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    throw new ConfigurationError(`the secret ${arn} does not hold JSON text`);
  }
  const { data, error } = credentials.safeParse(value);
  if (data !== undefined) return data;
  const fields = error.issues.map((issue) => issue.path.join('.')).join(', ');
  throw new ConfigurationError(`the secret ${arn} needs host, username, password: look at ${fields}`);
}
