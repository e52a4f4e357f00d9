import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PostgresStartError } from './errors.ts';

const exec = promisify(execFile);

/** Whom the server runs as. Empty: ourselves. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Postgres refuses to run as root, so root lends it to somebody else: whoever owns the data, or the folder it is going to
 * lie in (a later start of that user without root then finds data of its own), else `postgres`, else `nobody`. An owner without
 * a name, as a mounted checkout has in a container, does not do: initdb refuses it.
 */
export async function accountFor(dataDirectory: string): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  const owner = await ownerOf(resolve(dataDirectory));
  if (owner.uid !== 0 && (await hasName(owner.uid))) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const account = await lookUp(name).catch(() => undefined);
    if (account !== undefined) return account;
  }
  throw new PostgresStartError(
    'no_account',
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as. ' +
      'Start as another user, create one (useradd --system postgres), or set DATABASE_URL to a Postgres of your own.',
  );
}

/** Of the path, or of the nearest folder above it that is there. */
async function ownerOf(path: string): Promise<{ uid: number; gid: number }> {
  const found = await stat(path).catch(() => undefined);
  return found ?? ownerOf(dirname(path));
}

async function hasName(uid: number): Promise<boolean> {
  return exec('id', ['-un', String(uid)]).then(
    () => true,
    () => false,
  );
}

async function lookUp(name: string): Promise<Account> {
  const [uid, gid] = await Promise.all([exec('id', ['-u', name]), exec('id', ['-g', name])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** Whether the account can enter a directory: all of its parents count. */
export async function canEnter(account: Account, directory: string): Promise<boolean> {
  if (account.uid === undefined) return true;
  return exec('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
