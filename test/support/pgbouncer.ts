import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountFor } from '../../local/postgres/account.ts';
import { freePort, guard } from '../../local/postgres/server.ts';
import { openClient } from './database.ts';
import { pgbouncerProgram } from './pgbouncer-program.ts';

/** A PgBouncer in transaction mode in front of a Postgres. */
export interface Pgbouncer {
  /** The server's own URL, by way of PgBouncer: every database and role of the server is there. */
  readonly url: string;
  /** Statements to it and not to Postgres: `PAUSE`, `SHOW POOLS`. */
  command(statement: string): Promise<Record<string, unknown>[]>;
  /** At once: who is connected is hung up on. */
  stop(): Promise<void>;
}

/**
 * As harsh as it can be made: one after the other, transactions of a connection go to different connections of the server,
 * which keep whatever was left behind on them.
 */
const SETTINGS = {
  pool_mode: 'transaction',
  min_pool_size: '2',
  server_round_robin: '1',
  // Tests hold transactions open by the dozen; those of a run are a few.
  default_pool_size: '40',
  max_client_conn: '400',
  // A refused connection to the server is not tried again for so many seconds; the default is 15.
  server_login_retry: '1',
};

const START_MS = 10_000;

/** @throws Error that says why it does not start */
export async function startPgbouncer(
  serverUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Pgbouncer> {
  const program = pgbouncerProgram();
  if (program === undefined) throw new Error('PgBouncer is not installed: apt-get install pgbouncer');
  const directory = await mkdtemp(join(tmpdir(), 'millrace-test-pgbouncer-'));
  // It refuses to run as root, as Postgres does.
  const account = await accountFor(directory);
  const url = new URL(serverUrl);
  url.port = String(await freePort());
  const files = await configure(directory, new URL(serverUrl), url.port, settings);
  if (account.uid !== undefined && account.gid !== undefined) {
    for (const file of [directory, ...files]) await chown(file, account.uid, account.gid);
  }
  const log = await open(join(directory, 'pgbouncer.log'), 'a', 0o600);
  const process = spawn(program, [join(directory, 'pgbouncer.ini')], {
    ...account,
    cwd: directory,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  const gone = once(process, 'exit');
  await log.close();
  const callOff = guard(process, account);
  process.unref();
  const stop = async () => {
    process.ref();
    // It holds no state, and what else ends it differs from version to version.
    process.kill('SIGKILL');
    await gone;
    callOff();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await answers(url.href);
  } catch (error) {
    const said = await readFile(join(directory, 'pgbouncer.log'), 'utf8');
    await stop();
    throw new Error(`PgBouncer does not start: ${said}`, { cause: error });
  }
  return { url: url.href, stop, command: (statement) => command(url, statement) };
}

/** Resolves the paths of the files that it reads. */
async function configure(
  directory: string,
  server: URL,
  port: string,
  settings: Readonly<Record<string, string>>,
): Promise<string[]> {
  const user = decodeURIComponent(server.username);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: 'userlist.txt',
    // Roles that tests make are asked of the server.
    auth_user: user,
    admin_users: user,
    ...SETTINGS,
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const ini = ['[databases]', `* = host=${server.hostname} port=${server.port || 5432}`, '[pgbouncer]', ...lines, ''];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const files = {
    'pgbouncer.ini': ini.join('\n'),
    'userlist.txt': `${quoted(user)} ${quoted(decodeURIComponent(server.password))}\n`,
  };
  const paths: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    await writeFile(path, text, { mode: 0o600 });
    paths.push(path);
  }
  await chmod(directory, 0o700);
  return paths;
}

async function answers(url: string): Promise<void> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      const client = await openClient(url);
      await client.end();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

/** The database `pgbouncer` is its console, which knows the simple protocol alone. */
async function command(url: URL, statement: string): Promise<Record<string, unknown>[]> {
  const console = new URL(url);
  console.pathname = '/pgbouncer';
  const client = await openClient(console.href);
  const { rows } = await client.query(statement).finally(() => client.end());
  return rows;
}
