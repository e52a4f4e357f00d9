import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { isRunning } from './bundle.ts';
import { infoOf, projectOf, type Started, startIn } from './project.ts';

async function query(directory: string, text: string) {
  const client = new pg.Client({ connectionString: (await infoOf(directory))?.databaseUrl });
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
}

async function stop({ child, exited }: Started) {
  child.kill('SIGINT');
  expect(await exited).toBe(0);
}

const enqueue = `SELECT millrace.enqueue('hello.greet', '{"name": "Ada"}')`;
const count = 'SELECT count(*)::int AS jobs FROM millrace.jobs';
const serverPid = async (directory: string) =>
  Number((await readFile(join(directory, '.millrace', 'postgres', 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);

test('without DATABASE_URL it brings its own Postgres, whose data outlives a Ctrl-C and a kill -9', async () => {
  const directory = await projectOf();
  const first = startIn(directory);
  await first.ready;
  await query(directory, enqueue);
  const pid = await serverPid(directory);
  await stop(first);
  expect(isRunning(pid)).toBe(false);

  const second = startIn(directory);
  await second.ready;
  expect(await query(directory, count)).toEqual([{ jobs: 1 }]);
  second.child.kill('SIGKILL');
  await second.exited;

  const third = startIn(directory);
  await third.ready;
  expect(await query(directory, count)).toEqual([{ jobs: 1 }]);

  process.kill(await serverPid(directory), 'SIGKILL');
  expect(await third.exited).toBe(1);
  expect(third.errors()).toContain('The embedded Postgres ended');

  await writeFile(join(directory, '.millrace', 'postgres', 'data', 'PG_VERSION'), '14\n');
  const fourth = startIn(directory);
  expect(await fourth.exited).toBe(1);
  expect(fourth.errors()).toContain('was written by Postgres 14');

  await writeFile(join(directory, '.millrace', 'postgres', 'data', 'PG_VERSION'), '18\n');
  await rm(join(directory, '.millrace', 'postgres', 'data', 'base'), { recursive: true });
  const fifth = startIn(directory);
  expect(await fifth.exited).toBe(1);
  expect(fifth.errors()).toMatch(/^The embedded Postgres in .* cannot be used \(.*\): restore that folder.*\n$/);
}, 60_000);
