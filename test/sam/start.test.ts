import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { synthesizedRelease } from '../deploy/stage.ts';
import { openClient } from '../support/database.ts';
import { describe, expect, test as plain } from '../support/fixtures.ts';
import { createToken } from '../support/tokens.ts';
import { type Machine, machine } from './machine.ts';

/**
 * The whole of `npm run sam`, with `docker` and `sam` replaced: there is a real Postgres behind the one, and behind the other
 * the bundles run with the variables that SAM would pass. What only the real tools can show is whether their containers start.
 */
const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('assembly', { scope: 'file' }, async ({}, { onCleanup }) => {
    const { assembly, remove } = await synthesizedRelease();
    onCleanup(remove);
    return assembly;
  })
  /** One machine for the tests that follow one another on it. */
  .extend('computer', { scope: 'file' }, async ({ assembly }, { onCleanup }) => {
    const computer = await machine(assembly);
    onCleanup(() => computer.remove());
    return computer;
  })
  /** Another, which lacks something. */
  .extend('lacking', async ({ assembly }, { onCleanup }) => {
    const made: Machine[] = [];
    onCleanup(async () => {
      for (const computer of made) await computer.remove();
    });
    return async (...tools: ('docker' | 'sam')[]) => {
      const computer = await machine(assembly, tools);
      made.push(computer);
      return computer;
    };
  });

test.beforeAll(({ assembly }) => void assembly, 120_000);

test('a job goes through by Postgres with TLS, and Ctrl-C leaves nothing but the data', async ({ computer }) => {
  const { ready, interrupt, exited, errors, output } = computer.start();
  const url = await ready;
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/jobs`, { method: 'POST' })).status).toBe(401);
  const { location, headers } = await enqueue(computer, url);
  const status = async () => (await json(url + location, headers)).status;
  await expect.poll(status, { timeout: 60_000, interval: 200 }).toBe('completed');

  const { password, port } = await startOfPostgres(computer);
  await expectTls(
    `postgres://millrace:${password}@127.0.0.1:${port}/millrace`,
    `${computer.project}/.millrace/sam/ca.pem`,
  );
  expect(output()).not.toContain(password);
  await expectCalls(computer);

  interrupt();
  expect(await exited, errors()).toBe(0);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  expect((await computer.calls()).at(-1)?.args.slice(-1)).toEqual(['down']);
}, 180_000);

test('the next start finds its certificate, its password and its jobs; when SAM ends, all of it does', async ({
  computer,
}) => {
  const before = await startOfPostgres(computer);
  const { ready, exited, errors } = computer.start();
  const url = await ready;
  const { headers } = await enqueue(computer, url);
  const { jobs } = await json(`${url}/jobs?status=completed`, headers);
  expect(jobs.length).toBeGreaterThan(0);
  const after = await startOfPostgres(computer);
  expect(before.args.slice(-4)).toEqual(['up', '--detach', '--wait', '--force-recreate']);
  expect(after.args.slice(-3)).toEqual(['up', '--detach', '--wait']);
  expect(after.password).toBe(before.password);

  await writeFile(join(computer.home, 'api-ends'), '');
  expect(await exited).toBe(1);
  expect(errors()).toMatch(/^SAM's API ended \(sam local start-api: 3\)/);
  expect((await computer.calls()).at(-1)?.args.slice(-1)).toEqual(['down']);
}, 180_000);

test('a second start is refused and leaves the first alone; whose reader goes ends it, and nothing stays', async ({
  computer,
}) => {
  await rm(join(computer.home, 'api-ends'));
  const { ready, exited, closeOutput } = computer.start();
  const url = await ready;
  const other = computer.start({ PORT: String(computer.port + 1) });
  expect(await other.exited).toBe(1);
  expect(other.errors()).toMatch(/^Millrace already runs in \S+sam \(process \d+\): use that one, or stop it/);
  const { headers } = await enqueue(computer, url);
  expect((await fetch(`${url}/jobs`, { headers })).status).toBe(200);

  // As of a SAM that was killed.
  await writeFile(join(computer.home, 'containers'), '0123456789ab\nba9876543210\n');
  closeOutput();
  await exited;
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  expect((await computer.calls()).slice(-3).map(({ args }) => args)).toEqual([
    ['ps', '--quiet', '--filter', 'network=millrace', '--filter', 'label=sam.cli.container.type=lambda'],
    ['rm', '--force', '0123456789ab', 'ba9876543210'],
    expect.arrayContaining(['compose', 'down']),
  ]);
}, 180_000);

test('a volume with another password is said to be one, and Postgres is stopped again', async ({ computer }) => {
  await rm(join(computer.project, '.millrace'), { recursive: true });
  const { exited, errors } = computer.start();
  expect(await exited).toBe(1);
  expect(errors()).toContain('remove it with "docker volume rm millrace_data"');
  expect((await computer.calls()).at(-1)?.args.slice(-1)).toEqual(['down']);
}, 180_000);

describe('what is missing is said in a sentence', () => {
  test.for([
    { missing: 'docker', tools: ['sam'], sentence: /^Docker is not installed: install / },
    { missing: 'sam', tools: ['docker'], sentence: /^The AWS SAM CLI is not installed: see / },
  ] as const)('$missing', async ({ tools, sentence }, { lacking }) => {
    await expectSentence(await lacking(...tools), sentence);
  });

  test.for([
    { fails: 'compose', sentence: /^Docker has no "docker compose": install / },
    { fails: 'info', sentence: /^The Docker daemon does not answer: start / },
    { fails: 'up', sentence: /^Docker could not start Postgres \(docker compose up: 1\): docker: up does not/m },
  ])('docker $fails', async ({ fails, sentence }, { lacking }) => {
    const computer = await lacking('docker', 'sam');
    await writeFile(join(computer.home, `docker-${fails}-fails`), '');
    await expectSentence(computer, sentence);
  });

  test('a port that is taken', async ({ lacking }) => {
    const computer = await lacking('docker', 'sam');
    const server = createServer().listen(computer.port, '127.0.0.1');
    await once(server, 'listening');
    await expectSentence(
      computer,
      /^Something listens on port \d+ already: stop it, or choose another with PORT=3001\.\n$/,
    );
    server.close();
  });
});

async function expectSentence({ start }: Machine, sentence: RegExp): Promise<void> {
  const { exited, errors } = start();
  expect(await exited).toBe(1);
  expect(errors()).toMatch(sentence);
  expect(errors()).not.toMatch(/\n\s+at /);
}

async function startOfPostgres(computer: Machine) {
  const up = (await computer.calls()).findLast(({ args }) => args.includes('up'));
  if (up?.password === undefined) throw new Error('docker compose up was not called');
  return { ...up, password: up.password };
}

/** Nothing without TLS, nothing unverified, and the functions keep to it. */
async function expectTls(url: string, ca: string): Promise<void> {
  await expect(openClient(url)).rejects.toThrow(/no encryption/);
  await expect(openClient(`${url}?sslmode=verify-full`)).rejects.toThrow(/certificate/);
  const client = await openClient(`${url}?sslmode=verify-full&sslrootcert=${ca}`);
  const { rows } = await client.query(`
    SELECT count(*)::int AS all, count(*) FILTER (WHERE NOT ssl)::int AS open
    FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
    WHERE backend_type = 'client backend'`);
  await client.end();
  expect(rows[0].all).toBeGreaterThan(1);
  expect(rows[0].open).toBe(0);
}

/** Docker and SAM are called so that both find the same files, network and ports. */
async function expectCalls(computer: Machine): Promise<void> {
  const calls = await computer.calls();
  const kept = join(computer.project, '.millrace', 'sam');
  const shared = [
    ...['--template', join(kept, 'template.json'), '--env-vars', join(kept, 'env.json')],
    ...['--docker-network', 'millrace'],
  ];
  const sam = calls.filter(({ name, args }) => name === 'sam' && args[0] === 'local').map(({ args }) => args);
  const [api, ...ticks] = sam.slice(0, 3);
  // Which of the two that start at once writes it down first is nobody's to say.
  expect([api, ...ticks.sort((one, other) => (String(one) < String(other) ? -1 : 1))]).toEqual([
    [
      ...['local', 'start-api', '--host', '127.0.0.1', '--port', String(computer.port)],
      ...['--warm-containers', 'LAZY', ...shared],
    ],
    ['local', 'invoke', expect.stringMatching(/^JobsReap/), '--event', expect.stringContaining(kept), ...shared],
    ['local', 'invoke', expect.stringMatching(/^JobsWork/), '--event', expect.stringContaining(kept), ...shared],
  ]);
  const up = await startOfPostgres(computer);
  expect(up.args.slice(0, 5)).toEqual([
    ...['compose', '--file', expect.stringMatching(/compose\.yaml$/)],
    ...['--project-directory', computer.project],
  ]);
  // A password is for the environment: everybody on a machine sees the arguments.
  expect(up.password).toMatch(/^[\w-]{32}$/);
  expect(JSON.stringify(calls.map(({ args }) => args))).not.toContain(up.password);
}

async function enqueue({ project }: Machine, url: string) {
  const file = join(project, '.millrace', 'sam', 'tokens.json');
  const name = `me-${Math.random()}`;
  const token = await createToken(file, { name, role: 'operator', days: 1 });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ kind: 'hello.greet', payload: { name: 'Ada' } });
  const post = () => fetch(`${url}/jobs`, { method: 'POST', headers, body });
  // The authorizer sees the token once it is copied into its bundle.
  await expect.poll(async () => (await post()).status, { timeout: 20_000, interval: 200 }).toBe(201);
  return { location: (await post()).headers.get('location') as string, headers };
}

// biome-ignore lint/suspicious/noExplicitAny: a test that reads what is not there fails
async function json(url: string, headers: Readonly<Record<string, string>>): Promise<any> {
  return (await fetch(url, { headers })).json();
}
