import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '../lifecycle/ground.ts';
import { statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const lines = readFileSync(join(root, 'examples/docker/Dockerfile'), 'utf8').split('\n');

/** What follows these words; the last line that begins so counts. */
function after(words: string): string {
  const line = lines.findLast((one) => one.startsWith(words));
  if (line === undefined) throw new Error(`the Dockerfile has no ${words}`);
  return line.slice(words.length);
}

test('what the image is built by, started by and asked for its health by works, and its signal ends it', async ({
  db,
  databaseUrl,
}) => {
  // Within the repository, whose packages are those of the image.
  mkdirSync(join(root, '.millrace'), { recursive: true });
  const app = mkdtempSync(join(root, '.millrace', 'image-'));
  onTestFinished(() => rmSync(app, { recursive: true }));
  cpSync(join(root, 'test/cli/work-jobs'), join(app, 'jobs'), { recursive: true });
  mkdirSync(join(app, 'node_modules'));
  symlinkSync(root, join(app, 'node_modules/millrace'));

  const [esbuild = '', ...parameters] = after('RUN npx ').includes('prune') ? [] : after('RUN npx ').split(' ');
  const built = spawnSync(join(root, 'node_modules/.bin', esbuild), parameters, { cwd: app, encoding: 'utf8' });
  expect([built.status, built.stderr]).toEqual([0, expect.not.stringContaining('warning')]);

  const [bin, ...args] = JSON.parse(after('CMD '));
  expect(bin).toBe('node_modules/.bin/millrace');
  // Another port than the image's, which may be taken here.
  const port = String(20_000 + (process.pid % 20_000));
  const command = args.map((arg: string) => arg.replace(/^8080$/, port));
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, NODE_ENV: 'production' };
  const worker = spawn(process.execPath, [join(root, 'bin/millrace.ts'), ...command], { cwd: app, env });
  const ended = new Promise((resolve) => worker.once('close', resolve));
  onTestFinished(() => void worker.kill('SIGKILL'));

  const [node, ...check] = JSON.parse(after('HEALTHCHECK ').replace(/^.*? CMD /, ''));
  expect(node).toBe('node');
  const healthy = () =>
    new Promise<boolean>((resolve) => {
      const asked = spawn(
        process.execPath,
        check.map((arg: string) => arg.replace(':8080', `:${port}`)),
      );
      asked.once('close', (code) => resolve(code === 0));
    });
  await until(healthy);

  const { rows } = await db.query(`SELECT millrace.enqueue('fail', '{}') AS id`);
  // Dead at its first attempt: the PermanentError of the bundle is the one that the engine knows.
  await until(async () => (await statusOf(db, rows[0].id)) === 'dead');

  worker.kill(after('STOPSIGNAL ') as NodeJS.Signals);
  expect(await ended).toBe(0);
  expect(await healthy()).toBe(false);
});

test('it runs as nobody in particular, and no shell stands between it and its signals', () => {
  expect(after('USER ')).toBe('node');
  for (const form of [after('CMD '), after('HEALTHCHECK ').replace(/^.*? CMD /, '')]) expect(form).toMatch(/^\[/);
});
