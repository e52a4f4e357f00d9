import type pg from 'pg';
import { ConfigurationError } from '../../functions/lambda/configuration-error.ts';
import { connectPatiently } from '../../functions/migrate/connect-patiently.ts';
import { MillraceError } from '../../functions/queue/errors.ts';
import { sqlState } from '../../functions/queue/postgres-error.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { sqlFailure } from '../sql-failure.ts';
import { databaseOf, hasDatabase } from '../target.ts';
import { terminal } from '../terminal.ts';

type Place = Awaited<ReturnType<typeof databaseOf>>;

const NOT_ALLOWED = '42501';

/** Whether options or environment name a database at all. */
export function namesDatabase(databaseUrl: string | undefined, env: NodeJS.ProcessEnv = process.env): boolean {
  return databaseUrl !== undefined || hasDatabase(env);
}

/** Connects as whoever migrates, with warnings of the server told; ends the connection when `use` has ended. */
export async function withMigrator<T>(
  databaseUrl: string | undefined,
  seconds: number,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const place = await placeOf(databaseUrl);
  const client = await connect(place, seconds);
  client.on('notice', ({ severity, message, hint }) => {
    if (severity === 'WARNING') terminal.say([`warning: ${message}`, hint].filter(Boolean).join('\n'));
  });
  try {
    return await use(client);
  } catch (error) {
    throw failureOf(error, place);
  } finally {
    await client.end().catch(() => {});
  }
}

async function placeOf(databaseUrl: string | undefined): Promise<Place> {
  if (!namesDatabase(databaseUrl)) {
    throw new CliError(
      'Which database? Give DATABASE_URL or --database-url; or DATABASE_SECRET_ARN, or DATABASE_USER and DATABASE_HOST.',
      EXIT.usage,
    );
  }
  try {
    return await databaseOf(databaseUrl ?? (process.env.DATABASE_URL || undefined), process.env, 'migrate');
  } catch (error) {
    if (error instanceof ConfigurationError) throw new CliError(error.message, EXIT.usage, { cause: error });
    throw error;
  }
}

async function connect(place: Place, seconds: number): Promise<pg.Client> {
  let said = '';
  try {
    return (await connectPatiently(place.connect, {
      seconds,
      onRetry: (error) => {
        const reason = reasonOf(error);
        if (reason !== said) terminal.say(`waiting for the database, up to ${seconds} s: ${reason}`);
        said = reason;
      },
    })) as pg.Client;
  } catch (error) {
    const failure = failureOf(error, place);
    if (failure instanceof CliError) throw failure;
    throw new CliError(`${place.where}: ${reasonOf(error)}`, EXIT.unreachable, { code: 'unreachable', cause: error });
  }
}

/** For the person at the terminal. What says all that there is to say comes as it is. */
function failureOf(error: unknown, { where }: Place): unknown {
  if (sqlState(error) === NOT_ALLOWED) {
    return new CliError(
      `${where}: ${reasonOf(error)}: log in as the owner of the schema millrace, or as a role that may create it.`,
      EXIT.unreachable,
      { code: 'forbidden', cause: error },
    );
  }
  return error instanceof MillraceError ? error : sqlFailure(error, 'act', where);
}

/** Of several addresses that all refused, Node says nothing but their code. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}
