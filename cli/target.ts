import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import Client from 'pg/lib/client.js';
import { ConfigurationError } from '../functions/lambda/configuration-error.ts';
import { fromUrl, open } from '../functions/lambda/connect-url.ts';
import { isLoopback } from '../functions/lambda/tls.ts';
import type { Connect } from '../functions/queue/steady-connection.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { TargetOptions } from './target-options.ts';
import { terminal } from './terminal.ts';

export interface HttpTarget {
  readonly by: 'http';
  readonly where: string;
  readonly url: string;
  readonly token: string | undefined;
}

export interface SqlTarget {
  readonly by: 'sql';
  readonly where: string;
  readonly connect: Connect;
  /** Who acts, for operator_log. */
  readonly actor: string;
}

export type Target = HttpTarget | SqlTarget;

/** Which queue is meant: what an option says counts more than the environment, and that more than the one that runs here. */
export async function targetOf(
  options: TargetOptions,
  env: NodeJS.ProcessEnv = process.env,
  directory = '.',
): Promise<Target> {
  const by = wayOf(options, env);
  const runs = by.known ? undefined : await runtimeIn(directory);
  if (by.way === 'sql') {
    const databaseUrl = options.databaseUrl || env.DATABASE_URL || runs?.databaseUrl;
    if (!databaseUrl && !hasDatabase(env)) throw noQueue();
    return sqlTarget(databaseUrl, options, env);
  }
  const url = options.url || env.MILLRACE_URL || runs?.url;
  if (!url) throw noQueue();
  if (options.as !== undefined) {
    throw new CliError('--as goes with SQL: over HTTP operator_log has the name of the token.', EXIT.usage);
  }
  return { by: 'http', where: url, url, token: await tokenOf(options, env, url) };
}

/** `known`: options or environment also say where it is. */
function wayOf({ url, http, databaseUrl, sql }: TargetOptions, env: NodeJS.ProcessEnv) {
  const asked = { http: url !== undefined || http === true, sql: databaseUrl !== undefined || sql === true };
  const there = {
    http: url !== undefined || Boolean(env.MILLRACE_URL),
    sql: databaseUrl !== undefined || hasDatabase(env),
  };
  if (asked.http && asked.sql) {
    throw new CliError(
      'Give --url or --http for the API, or --database-url or --sql for the database, not both.',
      EXIT.usage,
    );
  }
  if (asked.http || asked.sql) {
    const way = asked.sql ? 'sql' : 'http';
    return { way, known: there[way] } as const;
  }
  if (there.http && there.sql) {
    const detail = 'MILLRACE_URL and a database (DATABASE_URL) are both set: say which is meant, with --http or --sql.';
    throw new CliError(detail, EXIT.usage);
  }
  return { way: there.sql ? 'sql' : 'http', known: there.http || there.sql } as const;
}

export function hasDatabase({ DATABASE_URL, DATABASE_SECRET_ARN, DATABASE_USER }: NodeJS.ProcessEnv): boolean {
  return Boolean(DATABASE_URL || DATABASE_SECRET_ARN || DATABASE_USER);
}

function noQueue(): CliError {
  return new CliError(
    'Which queue? Give --url (or MILLRACE_URL) and MILLRACE_TOKEN for its API, or DATABASE_URL for its database; ' +
      'or start one in this folder: npx millrace dev',
    EXIT.usage,
  );
}

async function tokenOf({ tokenFile }: TargetOptions, env: NodeJS.ProcessEnv, url: string): Promise<string | undefined> {
  const token = tokenFile === undefined ? env.MILLRACE_TOKEN : await readToken(tokenFile);
  if (token === '' && tokenFile !== undefined) throw new CliError(`--token-file: ${tokenFile} is empty.`, EXIT.usage);
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : {};
  if (token && protocol === 'http:' && !isLoopback(hostname ?? '')) {
    terminal.say(`Warning: ${hostname} is asked over http, which shows the token to whoever is on the way: use https.`);
  }
  return token || undefined;
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new CliError(`--token-file: ${(error as Error).message}`, EXIT.usage, { cause: error });
  }
}

async function sqlTarget(
  databaseUrl: string | undefined,
  { as }: TargetOptions,
  env: NodeJS.ProcessEnv,
): Promise<SqlTarget> {
  try {
    return { by: 'sql', ...(await databaseOf(databaseUrl, env, 'cli')), actor: as ?? `cli:${login(env)}` };
  } catch (error) {
    if (error instanceof ConfigurationError) throw new CliError(error.message, EXIT.usage, { cause: error });
    throw error;
  }
}

/** By that URL, or as the environment says; the connection is named after `as` in pg_stat_activity. @throws ConfigurationError */
export async function databaseOf(url: string | undefined, env: NodeJS.ProcessEnv, as: string) {
  return url ? byUrl(url, env.DATABASE_CA_FILE || undefined, as) : await byEnvironment(env, as);
}

function byUrl(url: string, caFile: string | undefined, as: string) {
  const config = fromUrl(url, caFile);
  const { host, port, database } = new Client({ connectionString: config.connectionString });
  return { where: `${host}:${port}/${database}`, connect: () => open(as, config) };
}

/** Imported when it is meant: secrets and tokens of AWS take its SDK, and the settings zod. */
async function byEnvironment(env: NodeJS.ProcessEnv, as: string) {
  const { databaseEnv, readEnv } = await import('../functions/lambda/env.ts');
  const { connector } = await import('../functions/lambda/connect.ts');
  const settings = readEnv(databaseEnv, env);
  return {
    where: settings.DATABASE_HOST ?? 'the database of DATABASE_SECRET_ARN',
    connect: connector(settings, as),
  };
}

/** What runs in that folder; imported when nothing else is named. */
async function runtimeIn(directory: string) {
  const { readRuntimeFile } = await import('../local/runtime-file.ts');
  return readRuntimeFile(join(directory, '.millrace'));
}

/** A container may run as a number that has no name. */
function login(env: NodeJS.ProcessEnv): string {
  try {
    return userInfo().username;
  } catch {
    return env.USER || String(process.getuid?.() ?? 'unknown');
  }
}
