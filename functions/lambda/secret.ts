import * as z from 'zod';
import { ConfigurationError } from './configuration-error.ts';
import type { DatabasePlace } from './env.ts';
import { readSecretText } from './secret-text.ts';

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
export function secretReader(arn: string, place: DatabasePlace = {}): ReadSecret {
  return async (stage) => {
    try {
      return credentialsOf(await readSecretText(arn, stage), arn, place);
    } catch (error) {
      if (stage === 'AWSPENDING' && isNotFound(error)) return undefined;
      throw error;
    }
  };
}

/** Secrets Manager's answer where there is no such secret, or none of that version and stage. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.name === 'ResourceNotFoundException';
}

/**
 * What the text of a secret says; a place that the environment names wins over the secret's own, and the master secret that RDS
 * makes names none.
 * @throws ConfigurationError; what a wrong secret holds stays out of the message
 */
export function credentialsOf(text: string | undefined, arn: string, place: DatabasePlace): Credentials {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    throw new ConfigurationError(`the secret ${arn} does not hold JSON text`);
  }
  const { DATABASE_HOST: host, DATABASE_PORT: port, DATABASE_NAME: dbname } = place;
  const named = Object.entries({ host, port, dbname }).filter(([, said]) => said !== undefined);
  const { data, error } = credentials.safeParse(
    typeof value === 'object' ? { ...value, ...Object.fromEntries(named) } : value,
  );
  if (data !== undefined) return data;
  const fields = error.issues.map((issue) => issue.path.join('.')).join(', ');
  throw new ConfigurationError(
    `the secret ${arn} needs username, password and, without DATABASE_HOST, host: look at ${fields}`,
  );
}
