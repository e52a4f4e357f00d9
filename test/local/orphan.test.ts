import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { expect, test } from '../support/fixtures.ts';
import { isRunning } from './bundle.ts';
import { infoOf, projectOf } from './project.ts';

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
