/** `node test/consumer/stack/lock.ts`: writes the application's lock anew, after its dependencies or ours have changed. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { APP, env, pack } from './install.ts';

const LOCK = 'package-lock.json';
const OURS = 'node_modules/millrace';

const folder = await mkdtemp(join(tmpdir(), 'millrace-lock-'));
try {
  await cp(join(APP, 'package.json'), join(folder, 'package.json'));
  const old = JSON.parse(await readFile(join(APP, LOCK), 'utf8'));
  // Where it is locked npm does not look at what the tarball says.
  delete old.packages[OURS];
  await writeFile(join(folder, LOCK), JSON.stringify(old));
  await pack(folder);
  await execa('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    env,
    stdio: 'inherit',
  });
  const lock = JSON.parse(await readFile(join(folder, LOCK), 'utf8'));
  // The next tarball is another one.
  delete lock.packages[OURS].integrity;
  await writeFile(join(APP, LOCK), `${JSON.stringify(lock, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
