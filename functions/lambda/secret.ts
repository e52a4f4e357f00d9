import * as z from 'zod';
import { ConfigurationError } from './env.ts';
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
export function secretReader(arn: string): ReadSecret {
  return async (stage) => {
    try {
      return parse(await readSecretText(arn, stage), arn);
    } catch (error) {
      if (stage === 'AWSPENDING' && isNotFound(error)) return undefined;
      throw error;
    }
  };
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.name === 'ResourceNotFoundException';
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
