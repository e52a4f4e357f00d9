import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inTurn } from '../../support/turn.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The project's Node before the one that npm may have come with. */
export const env = {
  ...process.env,
  PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`,
  npm_config_update_notifier: 'false',
};

/**
 * What the lock names, installed beside it unless it is there: about 15 s once, and again when the lock changes. No scripts
 * of packages run. Resolves the node_modules folder.
 */
export async function installed(): Promise<string> {
  await mkdir(join(root, 'dist'), { recursive: true });
  return inTurn(join(root, 'dist', 'orms.lock'), install);
}

async function install(): Promise<string> {
  const modules = join(folder, 'node_modules');
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8');
  // Written last: a folder without it, or with another lock in it, is unfinished or old.
  const mark = join(modules, '.installed-lock.json');
  if ((await readFile(mark, 'utf8').catch(() => '')) === lock) return modules;
  await rm(mark, { force: true });
  await run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder,
    env,
  }).catch((error) => {
    throw new Error(`npm ci in ${folder} failed:\n${error.stderr}`, { cause: error });
  });
  await writeFile(mark, lock);
  return modules;
}
