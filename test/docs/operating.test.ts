import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checksFor } from '../../cli/doctor/checks.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import { deadJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';
import { rowsBelow } from './tables.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/operating.md');
const SYMPTOMS = ['waiting', 'recurring', 'twice', 'busy', 'dead', 'api'];

test('docs/operating.md shows nothing but what is executed below', () => {
  expect(blocks.map(({ language, name }) => `${language} ${name}`)).toEqual([
    'sh doctor',
    ...SYMPTOMS.flatMap((name) => [`sh ${name}`, `sql ${name}`]),
  ]);
});

test('each symptom with a query has the command before it', async () => {
  const page = await readFile(join(root, 'docs/operating.md'), 'utf8');
  const [, ...sections] = page.split(/^## /m);
  for (const section of sections.filter((text) => text.includes('```sql'))) {
    expect(section.indexOf('```sh')).toBeGreaterThan(0);
    expect(section.indexOf('```sh')).toBeLessThan(section.indexOf('```sql'));
  }
});

test('it names checks that the doctor has', async () => {
  const page = await readFile(join(root, 'docs/operating.md'), 'utf8');
  const named = [...page.matchAll(/`doctor`: ([a-z, ]+)/g)].flatMap(([, ids = '']) => ids.trim().split(', '));
  expect(named.length).toBeGreaterThan(3);
  const ids = checksFor([]).map(({ id }) => id);
  for (const id of named) expect(ids).toContain(id);
});

test('it has each reason for which a run ends, and none beside', async () => {
  const reasons = {
    unneeded: true,
    held: true,
    emptied: true,
    relieved: true,
    deadline: true,
    drained: true,
    failed: true,
  } satisfies Record<RunSummary['reason'], true>;
  const page = await readFile(join(root, 'docs/operating.md'), 'utf8');
  expect(rowsBelow(page, '| `reason` ').map(([reason]) => reason?.replaceAll('`', ''))).toEqual(Object.keys(reasons));
});

describe('on a queue that has been better', () => {
  const block = (language: string, name: string) =>
    blockNamed(
      blocks.filter((one) => one.language === language),
      name,
    );

  test('its queries and its commands show what is wrong', { timeout: 120_000 }, async ({ own }) => {
    const errors = [
      { attempt: 1, name: 'TimeoutError', message: 'timeout of 5 s', failed_at: new Date().toISOString() },
    ];
    await pendingJob(own.pool, { kind: 'hello.greet', dueInSeconds: -900 });
    await processingJob(own.pool, { kind: 'report.make' });
    const { id } = await deadJob(own.pool, { kind: 'hello.greet', payload: { name: 'Ada' }, errors });
    await own.pool.query(`INSERT INTO millrace.counter_deltas (kind, event, n) VALUES ('hello.greet', 'reaped', 3)`);
    await own.pool.query(
      `INSERT INTO millrace.schedules (name, every, kind, queue, max_attempts, payload, catch_up, overlap)
       VALUES ('greeting', '5m', 'hello.greet', 'default', 5, '{"name": "Ada"}', 'latest', 'skip')`,
    );
    await own.pool.query(`INSERT INTO millrace.pauses (scope, name, paused_at) VALUES ('schedule', 'greeting', now())`);
    const rows = async (name: string) => (await own.pool.query(block('sql', name))).rows;
    expect(await rows('waiting')).toMatchObject([{ kind: 'hello.greet', queue: 'default', due: '1' }]);
    expect(await rows('recurring')).toMatchObject([{ name: 'greeting', kind: 'hello.greet', paused: true }]);
    expect((await rows('twice'))[0]).toMatchObject({ kind: 'hello.greet', lost_their_worker: '3', failed: null });
    expect(await rows('dead')).toMatchObject([{ kind: 'hello.greet', error: 'TimeoutError', jobs: '1' }]);
    expect(Number((await rows('api'))[0].connections)).toBeGreaterThan(0);
    expect(await rows('busy')).toEqual(expect.any(Array));

    const shell = (name: string, options = '') => {
      const commands = block('sh', name)
        .replaceAll('npx millrace', `node ${root}bin/millrace.ts`)
        .replaceAll('doctor', `doctor${options}`);
      const env = { PATH: process.env.PATH, DATABASE_URL: own.url, ID: id };
      return run('bash', ['-eo', 'pipefail', '-c', commands], { env });
    };
    const waiting = await shell('waiting');
    expect(waiting.stdout).toContain('hello.greet');
    expect(waiting.stderr).toMatch(/hello\.greet/);
    expect((await shell('recurring')).stdout).toMatch(/greeting.*paused/);
    const dead = await shell('dead');
    expect(dead.stdout).toContain('timeout of 5 s');
    expect(`${dead.stdout}${dead.stderr}`).toMatch(/\b1\b/);
    expect((await shell('twice')).stdout).toContain(id);
    for (const name of ['busy', 'api']) expect(block('sh', name)).toBe(block('sh', 'doctor'));
    // Nobody works here: the doctor says so, without the minute and a half in which a worker could come.
    const { stdout, code } = await shell('doctor', ' --deadline 1').catch((error) => error);
    expect(code).toBe(1);
    expect(stdout).toMatch(/tick|worker/i);
  });
});
