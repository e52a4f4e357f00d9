import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { defineJob } from '../../functions/queue/contract.ts';
import { enqueue } from '../../functions/queue/index.ts';
import { runOn } from '../lifecycle/ground.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { adoptApp, startIn } from '../local/project.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { folderInProject, typeErrors } from '../support/typescript.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = await readFile(join(root, 'README.md'), 'utf8');

describe('the README', () => {
  test('has the two commands that CI and newcomers run', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    for (const command of ['npm ci && npm start', 'npm ci && npm test']) expect(block('sh', 0)).toContain(command);
    for (const [, script] of readme.matchAll(/npm run ([a-z]+)/g)) expect(scripts).toHaveProperty(script as string);
  });

  test('its first job goes through: curl, read again, SQL in a transaction', async ({ own }) => {
    const directory = await temporaryDirectory();
    await adoptApp(directory);
    const url = await startIn(directory, { DATABASE_URL: own.url }).ready;

    const find = `${block('sh', 3).split('\n')[0]}; echo "$DATABASE_URL"`;
    expect((await run('bash', ['-c', find], { cwd: directory })).stdout.trim()).toBe(own.url);

    const { id } = JSON.parse(await shell(block('sh', 1), url));
    await expect
      .poll(async () => JSON.parse(await shell(block('sh', 2), url, { ID: id })), { timeout: 10_000 })
      .toMatchObject({ id, status: 'completed', payload: { name: 'Ada' }, result: { greeting: 'Hello, Ada!' } });

    const statements = block('sql', 0).split(/(?<=COMMIT;)/);
    await own.pool.query(statements[0] as string);
    const { rows } = await own.pool.query(statements[1] as string);
    expect(rows).toMatchObject([{ kind: 'hello.greet', status: 'pending', attempts: 0 }]);
    const status = async () => (await own.pool.query(statements[1] as string)).rows[0].status;
    await expect.poll(status, { timeout: 10_000 }).toBe('completed');

    const { welcome } = await moduleOf({ 'enqueue.ts': block('ts enqueue', 0) }, 'enqueue.ts');
    const client = await own.pool.connect();
    const second = await welcome(client, 'Grace').finally(() => client.release());
    await expect
      .poll(async () => (await own.pool.query('SELECT status FROM millrace.jobs WHERE id = $1', [second])).rows, {
        timeout: 10_000,
      })
      .toEqual([{ status: 'completed' }]);
  });

  test('its tokens open what asks for them, and can be listed and revoked', async ({ own }) => {
    const directory = await temporaryDirectory();
    await adoptApp(directory);
    expect(block('sh', 4).trim()).toBe('MILLRACE_AUTH=on npm start');
    const url = await startIn(directory, { DATABASE_URL: own.url, MILLRACE_AUTH: 'on' }).ready;

    const commands = block('sh', 5).replaceAll(/npm run (?:-s )?token --/g, `node ${root}bin/token.ts`);
    // curl ends without a line feed.
    const [, job, listed] = /^(\{.*\})(.*)\n$/.exec(await shell(commands, url, {}, directory)) ?? [];
    expect(JSON.parse(job as string)).toMatchObject({ kind: 'hello.greet', outcome: 'created' });
    expect(listed).toMatch(/^me\toperator\t20\d\d-/);
    expect(JSON.parse(await readFile(join(directory, '.millrace/tokens.json'), 'utf8'))).toEqual({ tokens: [] });

    const [create] = block('sh', 7).split('\n');
    const made = `${create}; echo "$TOKEN"`.replace('npm run -s token --', `node ${root}bin/token.ts`);
    expect(await shell(made, url, {}, directory)).toMatch(/^mlr_/);
    expect(await readFile(join(directory, 'tokens.json'), 'utf8')).toContain('"shop"');
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
      'contracts.ts': block('ts contracts', 0),
      'processors.ts': block('ts processors', 0).replace(':8025/', `:${(server.address() as AddressInfo).port}/`),
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

/** The nth block whose info string is `info`. */
function block(info: string, n: number): string {
  const found = [...readme.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].filter(([, tag]) => tag === info)[n];
  if (!found) throw new Error(`the README has no block ${n} of \`\`\`${info}`);
  return found[2] as string;
}

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
