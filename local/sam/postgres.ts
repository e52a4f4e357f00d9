import { fileURLToPath } from 'node:url';
import { command } from './command.ts';
import type { SamFiles } from './files.ts';
import { removeLeftBehind } from './left-behind.ts';
import { SamError } from './sam-error.ts';

const COMPOSE = fileURLToPath(new URL('../../compose.yaml', import.meta.url));
const MILLRACE = fileURLToPath(new URL('../../bin/millrace.ts', import.meta.url));

export interface SamPostgres {
  /** As this machine reaches it. */
  readonly url: string;
  /** Ends the container and its network; the volume with the data stays. */
  stop(): Promise<void>;
}

export interface SamPostgresOptions {
  readonly projectDirectory: string;
  readonly files: SamFiles;
  /** On loopback. */
  readonly port: number;
  readonly onLine: (line: string) => void;
  /** Gives up what is under way. */
  readonly signal: AbortSignal;
}

/** Starts Postgres by compose.yaml and resolves when it takes connections. @throws SamError `database` with what Docker said */
export async function startPostgres({
  projectDirectory,
  files,
  port,
  onLine,
  signal,
}: SamPostgresOptions): Promise<SamPostgres> {
  const compose = (args: readonly string[], own: { signal?: AbortSignal } = {}) =>
    command('docker', ['compose', '--file', COMPOSE, '--project-directory', projectDirectory, ...args], {
      cwd: projectDirectory,
      env: { MILLRACE_SAM_PASSWORD: files.password, MILLRACE_SAM_POSTGRES_PORT: String(port) },
      onLine,
      ...own,
    }).ended;
  const stop = async () => {
    await removeLeftBehind(projectDirectory);
    await compose(['down']);
  };
  // One that still runs has the certificate that was there when it started.
  const { code, output } = await compose(['up', '--detach', '--wait', ...(files.renewed ? ['--force-recreate'] : [])], {
    signal,
  });
  if (code === 0) {
    const url = `postgres://millrace:${files.password}@127.0.0.1:${port}/millrace?sslmode=verify-full`;
    return { url, stop };
  }
  await stop();
  throw new SamError('database', `Docker could not start Postgres (docker compose up: ${code}): ${lastOf(output)}`);
}

/** Brings it to the schema of this code. @throws SamError `migration` */
export async function migratePostgres(
  { url }: SamPostgres,
  { projectDirectory, files, onLine, signal }: SamPostgresOptions,
): Promise<void> {
  const { code, output } = await command(process.execPath, [MILLRACE, 'migrate'], {
    cwd: projectDirectory,
    env: { DATABASE_URL: url, DATABASE_CA_FILE: files.ca },
    onLine,
    signal,
  }).ended;
  if (code === 0) return;
  const remedy = output.includes('password authentication failed')
    ? ' The volume is from before .millrace/sam/password was made anew: remove it with "docker volume rm millrace_data", and its jobs with it.'
    : '';
  throw new SamError('migration', `The database could not be migrated: ${lastOf(output)}${remedy}`);
}

export function lastOf(output: string): string {
  return output.trim().split('\n').slice(-5).join('\n');
}
