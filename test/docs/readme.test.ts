import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { defineJob } from '../../functions/queue/contract.ts';
import { enqueue } from '../../functions/queue/index.ts';
import { runOn } from '../lifecycle/ground.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { adoptApp, startIn } from '../local/project.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { folderInProject, typeErrors } from '../support/typescript.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
const readme = await readFile(join(root, 'README.md'), 'utf8');
const blocks = blocksOf('README.md');
const block = (name: string) => blockNamed(blocks, name);

describe('the README', () => {
  test('has the two commands that CI and newcomers run', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    for (const command of ['npm ci && npm start', 'npm ci && npm test']) expect(block('start')).toContain(command);
    for (const [, script] of readme.matchAll(/npm run ([a-z]+)/g)) expect(scripts).toHaveProperty(script as string);
  });

  test('shows what is executed here, and in test/cli', () => {
    const names = [
      'start',
      'own',
      'curl',
      'read',
      'transaction',
      'database',
      'enqueue',
      'contracts',
      'processors',
      '',
      'deploy',
      '',
    ];
    expect(blocks.map(({ name }) => name)).toEqual(names);
    const own = block('own').replaceAll(/ +#.*/g, '').trim().split('\n');
    const guide = ['init', 'dev', 'enqueue'].map((name) => blockNamed(blocksOf('docs/first-job.md'), name).trim());
    expect(own).toEqual(guide);
  });

  test('its first job goes through: curl, read again, SQL in a transaction', { timeout: 90_000 }, async ({ own }) => {
    const directory = await temporaryDirectory();
    await adoptApp(directory);
    const url = await startIn(directory, { DATABASE_URL: own.url }).ready;

    const find = `${block('database').split('\n')[0]}; echo "$DATABASE_URL"`;
    expect((await run('bash', ['-c', find], { cwd: directory })).stdout.trim()).toBe(own.url);

    const { id } = JSON.parse(await shell(block('curl'), url));
    await expect
      .poll(async () => JSON.parse(await shell(block('read'), url, { ID: id })), { timeout: 30_000 })
      .toMatchObject({ id, status: 'completed', payload: { name: 'Ada' }, result: { greeting: 'Hello, Ada!' } });

    const statements = block('transaction').split(/(?<=COMMIT;)/);
    await own.pool.query(statements[0] as string);
    const { rows } = await own.pool.query(statements[1] as string);
    expect(rows).toMatchObject([{ kind: 'hello.greet', status: 'pending', attempts: 0 }]);
    const status = async () => (await own.pool.query(statements[1] as string)).rows[0].status;
    await expect.poll(status, { timeout: 30_000 }).toBe('completed');

    const { welcome } = await moduleOf({ 'enqueue.ts': block('enqueue') }, 'enqueue.ts');
    const client = await own.pool.connect();
    const second = await welcome(client, 'Grace').finally(() => client.release());
    await expect
      .poll(async () => (await own.pool.query('SELECT status FROM millrace.jobs WHERE id = $1', [second])).rows, {
        timeout: 30_000,
      })
      .toEqual([{ status: 'completed' }]);
  });

  test('its own kind compiles, is enqueued and runs', async ({ db, databaseUrl }) => {
    const mails: string[] = [];
    const server = createServer((request, response) => {
      mails.push(`${request.method} ${request.headers['idempotency-key']}`);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const files = {
      'contracts.ts': block('contracts'),
      'processors.ts': block('processors').replace(':8025/', `:${(server.address() as AddressInfo).port}/`),
    };
    const { processors } = await moduleOf(files, 'processors.ts');
    const { contracts } = await moduleOf(files, 'contracts.ts');

    const payload = { orderId: '0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11', to: 'ada@example.org' };
    const id = await enqueue(db, contracts as Record<string, ReturnType<typeof defineJob>>, {
      kind: 'receipt.email',
      payload,
    });
    await runOn(databaseUrl, { contracts, processors });
    const { rows } = await db.query('SELECT status, result, max_attempts FROM millrace.jobs WHERE id = $1', [id]);
    expect(rows).toEqual([{ status: 'completed', result: { sent: true }, max_attempts: 8 }]);
    expect(mails).toEqual([expect.stringMatching(/^POST .+/)]);
  });
});

async function shell(
  command: string,
  url: string,
  variables: Record<string, string> = {},
  directory = root,
): Promise<string> {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command.replaceAll('http://127.0.0.1:3000', url)], {
    cwd: directory,
    env: { PATH: process.env.PATH, ...variables },
  });
  return stdout;
}

/** Writes the files as if they lay in the tree, type-checks them with the project's settings, and imports one. */
// biome-ignore lint/suspicious/noExplicitAny: what the README exports is what is under test
async function moduleOf(files: Record<string, string>, entry: string): Promise<any> {
  const directory = await folderInProject('readme');
  for (const [name, text] of Object.entries(files)) {
    const absolute = text
      .replaceAll(`'../queue/`, `'${root}functions/queue/`)
      .replaceAll(`'./functions/`, `'${root}functions/`);
    await writeFile(join(directory, name), absolute);
  }
  expect(await typeErrors(directory)).toEqual([]);
  return import(pathToFileURL(join(directory, entry)).href);
}
