import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '../support/fixtures.ts';
import { isRunning } from './bundle.ts';
import { DRAINS, IGNORES, infoOf, projectOf, startIn } from './project.ts';

const worker = async (directory: string) => (await infoOf(directory))?.workers[0] ?? 0;

describe('npm start', () => {
  test('serves, runs the schedule, tells where it is, and Ctrl-C drains and leaves nothing', async ({
    databaseUrl,
  }) => {
    const directory = await projectOf();
    const { child, ready, exited, output } = startIn(directory, { DATABASE_URL: databaseUrl });
    const url = await ready;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await expect.poll(output, { timeout: 5000 }).toContain(`curl ${url}/jobs`);
    expect(await (await fetch(`${url}/somewhere`)).json()).toEqual({ path: '/somewhere' });
    expect(await infoOf(directory)).toMatchObject({ url, databaseUrl, pid: child.pid });
    expect((await stat(join(directory, '.millrace', 'runtime.json'))).mode & 0o777).toBe(0o600);
    await expect.poll(output, { timeout: 10_000 }).toContain('worker started');

    const pid = await worker(directory);
    expect(isRunning(pid)).toBe(true);
    child.kill('SIGINT');
    expect(await exited).toBe(0);
    expect(output()).toContain('drained');
    expect(isRunning(pid)).toBe(false);
    expect(await readdir(join(directory, '.millrace'))).toEqual(['cdk.out']);
  });

  test('without an HTTP API it runs the schedules, and says so', async ({ databaseUrl }) => {
    const directory = await projectOf();
    const file = join(directory, 'assembly', 'Stack.template.json');
    const { Resources } = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ Resources: { Work: Resources.Work, S: Resources.S } }));
    const { ready, output } = startIn(directory, { DATABASE_URL: databaseUrl, MILLRACE_AUTH: 'on' });
    const answer = await fetch(`${await ready}/jobs`);
    expect(answer.status).toBe(404);
    await expect.poll(output, { timeout: 10_000 }).toContain('worker started');
    expect(output()).toContain('there is no HTTP API: jobs come in by SQL');
    expect(output()).not.toMatch(/curl|tokens/);
  });

  test('with MILLRACE_AUTH=on it says which routes it cannot open', async ({ databaseUrl }) => {
    const directory = await projectOf();
    const file = join(directory, 'assembly', 'Stack.template.json');
    const { Resources } = JSON.parse(await readFile(file, 'utf8'));
    Resources.R.Properties.AuthorizationType = 'AWS_IAM';
    await writeFile(file, JSON.stringify({ Resources }));
    const { ready, output } = startIn(directory, { DATABASE_URL: databaseUrl, MILLRACE_AUTH: 'on' });
    expect((await fetch(`${await ready}/jobs`)).status).toBe(403);
    expect(output()).toContain(
      'MILLRACE_AUTH=on: 1 of 1 routes answer 403 to everybody, since its authorization (AWS_IAM) cannot be checked on this machine.',
    );
  });

  test('a second Ctrl-C does not wait for a worker that will not drain', async ({ databaseUrl }) => {
    const directory = await projectOf(IGNORES);
    const { child, ready, exited, output } = startIn(directory, { DATABASE_URL: databaseUrl });
    await ready;
    const pid = await worker(directory);
    await expect.poll(output, { timeout: 10_000 }).toContain('deaf');
    child.kill('SIGINT');
    await expect.poll(output, { timeout: 5000 }).toContain('draining');
    const began = performance.now();
    // What comes right behind the first would be npm's.
    const pressing = setInterval(() => child.kill('SIGINT'), 100);
    expect(await exited).toBe(0);
    clearInterval(pressing);
    // Its drain would be given up after 15 s.
    expect(performance.now() - began).toBeLessThan(8000);
    expect(isRunning(pid)).toBe(false);
  });

  test('one Ctrl-C that comes twice, as npm passes it on, leaves a worker its time to drain', async ({
    databaseUrl,
  }) => {
    const slow = DRAINS.replace(
      `() => { console.log('drained')`,
      `async () => { await later(1000); console.log('drained')`,
    );
    const directory = await projectOf(`import { setTimeout as later } from 'node:timers/promises';\n${slow}`);
    const { child, ready, exited, output } = startIn(directory, { DATABASE_URL: databaseUrl });
    await ready;
    await expect.poll(output, { timeout: 10_000 }).toContain('worker started');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    expect(output()).toContain('drained');
  });

  test('when nobody reads its output any more it stops, and leaves nothing', async ({ databaseUrl }) => {
    const directory = await projectOf();
    const { child, ready, exited } = startIn(directory, { DATABASE_URL: databaseUrl });
    const url = await ready;
    const pid = await worker(directory);
    child.stdout?.destroy();
    child.stderr?.destroy();
    await fetch(url);
    expect(await exited).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(await readdir(join(directory, '.millrace'))).toEqual(['cdk.out']);
  });

  test('Ctrl-C while it starts ends it, with nothing left', async ({ databaseUrl }) => {
    const directory = await projectOf();
    await writeFile(join(directory, 'cdk.json'), '{"app":"echo $$ > pid; sleep 60"}');
    const { child, exited, errors } = startIn(directory, { DATABASE_URL: databaseUrl });
    await expect.poll(() => existsSync(join(directory, 'pid')), { timeout: 5000 }).toBe(true);
    child.kill('SIGINT');
    expect(await exited).toBe(1);
    expect(errors()).toBe('Stopped before it was up.\n');
    expect(await readdir(join(directory, '.millrace'))).toEqual(['cdk.out']);
  });

  test('after kill -9 no worker stays, and the next start takes over', async ({ databaseUrl }) => {
    const directory = await projectOf();
    const first = startIn(directory, { DATABASE_URL: databaseUrl });
    await first.ready;
    const pid = await worker(directory);
    first.child.kill('SIGKILL');
    await first.exited;
    await expect.poll(() => isRunning(pid), { timeout: 5000 }).toBe(false);
    expect(existsSync(join(directory, '.millrace', 'lock'))).toBe(true);
    await startIn(directory, { DATABASE_URL: databaseUrl }).ready;
  });

  test('a killed worker is replaced at the next tick, and runtime.json knows the new one', async ({ databaseUrl }) => {
    const directory = await projectOf(DRAINS);
    const { ready, output } = startIn(directory, { DATABASE_URL: databaseUrl, MILLRACE_TICK_SECONDS: '0.2' });
    await ready;
    const pid = await worker(directory);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => worker(directory), { timeout: 5000 }).not.toBe(pid);
    await expect.poll(async () => isRunning(await worker(directory)), { timeout: 5000 }).toBe(true);
    expect(output()).toContain('ended by signal SIGKILL');
  });
});

describe('one sentence and exit code 1', () => {
  async function refusal(directory: string, env: Record<string, string>) {
    const { exited, errors, output } = startIn(directory, env);
    expect(await exited).toBe(1);
    expect(output()).not.toContain('ready');
    expect(errors()).not.toMatch(/\n\s+at |hush/);
    expect(errors().trimEnd().split('\n')).toHaveLength(1);
    return errors();
  }

  test('when one runs already', async ({ databaseUrl }) => {
    const directory = await projectOf();
    const first = startIn(directory, { DATABASE_URL: databaseUrl });
    await first.ready;
    expect(await refusal(directory, { DATABASE_URL: databaseUrl })).toContain(`(process ${first.child.pid})`);
    expect((await fetch((await infoOf(directory))?.url ?? '')).status).toBe(200);
  });

  test('when the port is taken', async ({ databaseUrl }) => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    expect(await refusal(await projectOf(), { DATABASE_URL: databaseUrl, PORT: String(port) })).toContain(
      `Port ${port} is taken`,
    );
    server.close();
  });

  test('when a setting is wrong', async () => {
    expect(await refusal(await projectOf(), { PORT: 'abc' })).toContain('PORT is "abc"');
  });

  test('when the database cannot be used', async ({ databaseUrl }) => {
    const directory = await projectOf();
    const changed = (change: (url: URL) => void) => {
      const url = new URL(databaseUrl);
      change(url);
      return { DATABASE_URL: url.href };
    };
    expect(
      await refusal(
        directory,
        changed((url) => {
          url.port = '1';
        }),
      ),
    ).toContain('No Postgres answers at 127.0.0.1:1');
    expect(
      await refusal(
        directory,
        changed((url) => {
          url.password = 'hush';
        }),
      ),
    ).toContain('refuses the password of');
    expect(
      await refusal(
        directory,
        changed((url) => {
          url.pathname = '/nowhere';
        }),
      ),
    ).toContain('has no database "nowhere"');
    expect(await refusal(directory, { DATABASE_URL: 'postgres://u:hush@no-such-host.invalid/d' })).toContain(
      'no-such-host.invalid',
    );
  });

  test('when something else has the name of the folder for data', async ({ databaseUrl }) => {
    const directory = await projectOf();
    await writeFile(join(directory, '.millrace'), '');
    expect(await refusal(directory, { DATABASE_URL: databaseUrl })).toContain('move that file away');
  });

  test('when there is no CDK app here', async ({ databaseUrl }) => {
    const directory = await projectOf();
    await writeFile(join(directory, 'cdk.json'), '{}');
    expect(await refusal(directory, { DATABASE_URL: databaseUrl })).toContain(
      'cdk.json is no JSON object with an "app" command',
    );
  });
});

test('a CDK app that fails says why', async ({ databaseUrl }) => {
  const directory = await projectOf();
  await writeFile(join(directory, 'cdk.json'), '{"app":"echo the reason >&2; exit 3"}');
  const { exited, errors } = startIn(directory, { DATABASE_URL: databaseUrl });
  expect(await exited).toBe(1);
  expect(errors()).toMatch(/failed \(3\): run npx cdk synth to see why:\nthe reason\n$/);
});
