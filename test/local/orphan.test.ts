import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { expect, test } from '../support/fixtures.ts';
import { isRunning, temporaryDirectory } from './bundle.ts';
import { infoOf, projectOf } from './project.ts';

const ORPHAN = new URL('../../local/orphan.ts', import.meta.url).href;
const LOCAL = fileURLToPath(new URL('../../bin/local.ts', import.meta.url));

/** As npm does it: a shell that waits for the runtime, and here another in the place of npm. */
async function started(databaseUrl: string) {
  const directory = await projectOf();
  const env = { PATH: process.env.PATH, PORT: '0', DATABASE_URL: databaseUrl, npm_lifecycle_event: 'start' };
  const script = 'sh -c \'echo $$ > shell; "$@"; :\' sh "$@"; :';
  const npm = spawn('/bin/sh', ['-c', script, 'sh', process.execPath, LOCAL], { cwd: directory, env, stdio: 'ignore' });
  await expect.poll(() => infoOf(directory), { timeout: 20_000 }).toBeDefined();
  const pid = (await infoOf(directory))?.pid ?? 0;
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    npm.kill('SIGKILL');
  });
  return { directory, pid, npm: npm.pid ?? 0, shell: Number(await readFile(join(directory, 'shell'), 'utf8')) };
}

test('a runtime whose shell is gone stops, and leaves nothing', async ({ databaseUrl }) => {
  const { directory, pid, shell } = await started(databaseUrl);
  process.kill(shell, 'SIGKILL');
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  expect(await readdir(join(directory, '.millrace'))).toEqual(['cdk.out']);
});

test.runIf(process.platform === 'linux')('so does one whose npm got a SIGKILL', async ({ databaseUrl }) => {
  const { directory, pid, npm } = await started(databaseUrl);
  process.kill(npm, 'SIGKILL');
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  expect(await readdir(join(directory, '.millrace'))).toEqual(['cdk.out']);
});

test.for([
  ['start', true],
  ['sam', true],
  ['dev', true],
  ['token', false],
] as const)('under "npm run %s" a program that loses its shell hears of it: %s', async ([script, hears]) => {
  const directory = await temporaryDirectory();
  const program = `
    import { writeFileSync } from 'node:fs';
    import { whenOrphaned } from '${ORPHAN}';
    whenOrphaned(process.env, () => process.exit());
    setInterval(() => {}, 1000);
    writeFileSync('up', String(process.pid));`;
  const env = { PATH: process.env.PATH, npm_lifecycle_event: script };
  const shell = spawn('/bin/sh', ['-c', '"$@"; :', 'sh', process.execPath, '--input-type=module', '-e', program], {
    cwd: directory,
    env,
    stdio: 'ignore',
  });
  await expect.poll(() => readFile(join(directory, 'up'), 'utf8').catch(() => ''), { timeout: 10_000 }).not.toBe('');
  const pid = Number(await readFile(join(directory, 'up'), 'utf8'));
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  shell.kill('SIGKILL');
  if (hears) await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  else expect(isRunning(pid)).toBe(true);
});
