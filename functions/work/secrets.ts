import { readSecretText } from '../lambda/secret-text.ts';
import type { Log } from '../queue/context.ts';
import { MillraceError } from '../queue/errors.ts';

/** A variable that processors read has no value, since its secret cannot be read. `cause` is what Secrets Manager said. */
export class SecretUnreadableError extends MillraceError {
  static override readonly name: string = 'SecretUnreadableError';
  readonly code = 'secret_unreadable';
}

/** Milliseconds after which a value is read again: that long a warm sandbox goes on with one that was rotated away. */
const FRESH_MS = 5 * 60_000;

/** When the value of a variable was read, in milliseconds since the epoch: the monotonic clock may stand still in a freeze. */
const readAt = new Map<string, number>();

/**
 * Gives processors the values of these secrets, as variables in `process.env`; those read within five minutes stay as they
 * are. One that cannot be read again keeps its value, and the log says so: jobs need not stop for an outage of Secrets
 * Manager. @throws SecretUnreadableError naming the variables that never had one, and no value
 */
export async function putSecretsIntoEnv(arns: Readonly<Record<string, string>>, log: Log): Promise<void> {
  const due = Object.entries(arns).filter(([name]) => !isFresh(name));
  const failures = (await Promise.all(due.map(([name, arn]) => putSecret(name, arn)))).filter(
    (one) => one !== undefined,
  );
  const missing = failures.filter(({ name }) => !readAt.has(name));
  if (missing[0] !== undefined) {
    const names = missing.map(({ name }) => name).join(', ');
    throw new SecretUnreadableError(
      `no job was claimed: the secret for ${names} (WORKER_SECRETS) cannot be read: ${reasonOf(missing[0].error)}`,
      { cause: missing[0].error },
    );
  }
  for (const { name, error } of failures) {
    log.warn('a secret cannot be read again; processors go on with the value from before', { variable: name, error });
  }
}

function isFresh(name: string): boolean {
  const age = Date.now() - (readAt.get(name) ?? Number.NEGATIVE_INFINITY);
  // Below 0 the clock was set back.
  return age >= 0 && age < FRESH_MS;
}

interface Failure {
  readonly name: string;
  readonly error: unknown;
}

async function putSecret(name: string, arn: string): Promise<Failure | undefined> {
  try {
    const text = await readSecretText(arn);
    if (text === undefined) throw new TypeError(`${arn} holds no text`);
    process.env[name] = text;
    readAt.set(name, Date.now());
    return undefined;
  } catch (error) {
    return { name, error };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
