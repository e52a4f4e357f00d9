import type { Log } from '../queue/context.ts';
import { MillraceError } from '../queue/errors.ts';
import { readSecretText } from './secret-text.ts';
import { within } from './within.ts';

/** A variable that processors or contracts read has no value: its secret cannot be read. `cause` is what Secrets Manager said. */
export class SecretUnreadableError extends MillraceError {
  static override readonly name: string = 'SecretUnreadableError';
  readonly code = 'secret_unreadable';
}

/** Milliseconds after which a value is read again: that long a warm sandbox goes on with one that was rotated away. */
const FRESH_MS = 5 * 60_000;
/**
 * Milliseconds that a run which has a value waits for the next one. A job is started only while the time that remains covers
 * its kind's timeout, and of a run's time 5 s are for its start: the tries of the SDK would take more.
 */
const PATIENCE_MS = 2000;

/** When the value of a variable was read, in milliseconds since the epoch: the monotonic clock may stand still in a freeze. */
const readAt = new Map<string, number>();

/**
 * Gives processors and contracts the values of these secrets, as variables in `process.env`; those read within five minutes
 * stay as they are. One that cannot be read again within two seconds keeps its value, and the log says so: jobs need not stop
 * for an outage of Secrets Manager. @throws SecretUnreadableError naming the variables that never had one, and no value
 */
export async function putSecretsIntoEnv(arns: Readonly<Record<string, string>>, log: Log): Promise<void> {
  const due = Object.entries(arns).filter(([name]) => !isFresh(name));
  const failures = (await Promise.all(due.map(([name, arn]) => putInTime(name, arn)))).filter(
    (one) => one !== undefined,
  );
  const missing = failures.filter(({ name }) => !readAt.has(name));
  if (missing[0] !== undefined) {
    const names = missing.map(({ name }) => name).join(', ');
    throw new SecretUnreadableError(`the secret for ${names} cannot be read: ${reasonOf(missing[0].error)}`, {
      cause: missing[0].error,
    });
  }
  for (const { name, error } of failures) {
    log.warn('a secret cannot be read again; its variable keeps the value from before', { variable: name, error });
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

/** What comes later than a run that has a value can wait is put in its place during that run. */
async function putInTime(name: string, arn: string): Promise<Failure | undefined> {
  const put = putSecret(name, arn);
  if (!readAt.has(name)) return put;
  return within(PATIENCE_MS, () => put, `Secrets Manager did not answer within ${PATIENCE_MS} ms`).catch((error) => ({
    name,
    error,
  }));
}

async function putSecret(name: string, arn: string): Promise<Failure | undefined> {
  try {
    const text = await readSecretText(arn);
    if (text === undefined) throw new TypeError(`${arn} holds no text`);
    // What comes after it would be cut off, and nobody told.
    if (text.includes('\0')) throw new TypeError(`${arn} holds a NUL character, which no variable can`);
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
