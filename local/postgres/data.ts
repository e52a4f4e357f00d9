import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Account, canEnter } from './account.ts';
import type { Binaries } from './binaries.ts';
import { explain, PostgresStartError } from './errors.ts';

const exec = promisify(execFile);

/**
 * Makes the directory, owned by the account. Where the account cannot get to it (a checkout under /root), another one that
 * stays the same for it is used, and `notice` says so.
 */
export async function reachable(wanted: string, account: Account, notice: (sentence: string) => void): Promise<string> {
  const directory = resolve(wanted);
  await make(directory, account);
  if (await canEnter(account, directory)) return directory;
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 12);
  for (const base of ['/var/lib/millrace', join(tmpdir(), 'millrace-data')]) {
    const other = join(base, name);
    const made = await mkdir(base, { recursive: true }).then(
      () => make(other, account),
      (error: unknown) => error,
    );
    if (made instanceof Error || !(await canEnter(account, other))) continue;
    notice(
      `Postgres does not run as root, and the user it runs as cannot get to ${directory}: its data is in ${other} instead.`,
    );
    return other;
  }
  throw new PostgresStartError(
    'not_writable',
    `Postgres does not run as root, and the user it runs as cannot get to ${directory}. ` +
      'Use a directory outside of /root, start as another user, or set DATABASE_URL to a Postgres of your own.',
  );
}

async function make(directory: string, account: Account): Promise<void> {
  await mkdir(directory, { recursive: true });
  if (account.uid !== undefined && account.gid !== undefined) await chown(directory, account.uid, account.gid);
  await chmod(directory, 0o700);
}

/**
 * Data that the binaries can run: what is there, else a new one, made under another name and renamed when it is whole, so
 * that an initdb that was killed leaves nothing that looks like data. Resolves the superuser's password.
 * @throws PostgresStartError `other_major`, `damaged`, and what `explain` finds in initdb's output
 */
export async function prepareData(directory: string, binaries: Binaries, account: Account): Promise<string> {
  const data = join(directory, 'data');
  const secret = join(directory, 'password');
  for (const left of (await readdir(directory)).filter((name) => name.startsWith('data.new-'))) {
    // The initdb of a process that was killed may still be writing there: without its files it gives up.
    await rm(join(directory, left), { recursive: true, force: true, maxRetries: 10 }).catch(() => {});
  }
  await rmdir(data).catch(() => {});
  if (await stat(data).catch(() => undefined)) {
    await checkMajor(directory, binaries);
    return readPassword(secret, directory);
  }
  const password = randomBytes(24).toString('base64url');
  await writeFile(secret, `${password}\n`, { mode: 0o600 });
  if (account.uid !== undefined && account.gid !== undefined) await chown(secret, account.uid, account.gid);
  await initialise(join(directory, `data.new-${randomBytes(6).toString('hex')}`), data, secret, binaries, account);
  return password;
}

async function initialise(
  draft: string,
  data: string,
  secret: string,
  { initdb }: Binaries,
  account: Account,
): Promise<void> {
  const flags = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${secret}`, '--encoding=UTF8', '--locale=C'];
  try {
    await exec(initdb, [`--pgdata=${draft}`, ...flags], { ...account, cwd: '/', env: serverEnvironment() });
    await rename(draft, data);
  } catch (cause) {
    await rm(draft, { recursive: true, force: true }).catch(() => {});
    const { stderr, message } = cause as { stderr?: string; message: string };
    throw explain(resolve(data, '..'), stderr || message, cause);
  }
}

async function checkMajor(directory: string, binaries: Binaries): Promise<void> {
  const found = (await readFile(join(directory, 'data', 'PG_VERSION'), 'utf8').catch(() => '')).trim();
  if (found === String(binaries.major)) return;
  if (found === '') throw explain(directory, 'PG_VERSION is missing');
  throw new PostgresStartError(
    'other_major',
    `The data in ${directory} was written by Postgres ${found}, and this is Postgres ${binaries.version}. ` +
      `Move the folder away to begin with an empty one (mv ${directory} ${directory}-${found}), ` +
      `or set DATABASE_URL to a Postgres ${found} that has it.`,
  );
}

async function readPassword(secret: string, directory: string): Promise<string> {
  const password = (await readFile(secret, 'utf8').catch(() => '')).trim();
  if (password !== '') return password;
  throw new PostgresStartError(
    'damaged',
    `The password of the Postgres in ${directory} is missing (${basename(secret)}). ` +
      'Restore that file, or move the folder away to begin with an empty one, or set DATABASE_URL to a Postgres of your own.',
  );
}

/** Ours without what would steer the server (PGDATA, PGPORT, …); messages in English, since `explain` reads them. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', LANG: 'C' };
}
