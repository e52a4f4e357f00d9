import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../lifecycle/ground.ts';
import { infoOf, launch, type Started } from '../local/project.ts';
import { test as base, expect, vi } from '../support/fixtures.ts';

// The first test waits for the stack to be synthesized, which takes 4 s of a core that is idle.
vi.setConfig({ testTimeout: 90_000 });

const root = fileURLToPath(new URL('../../', import.meta.url));

const CONTRACTS = `
import { defineJob } from 'millrace/queue';
import * as z from 'zod';
export const contracts = {
  'word.say': defineJob({ payload: z.object({ n: z.int() }), timeoutSeconds: 20 }),
  'word.wait': defineJob({ payload: z.object({ deaf: z.boolean() }), timeoutSeconds: 20, maxAttempts: 1 }),
};`;

const PROCESSORS = `
import { setTimeout as sleep } from 'node:timers/promises';
import type { Processors } from 'millrace/queue';
import type { contracts } from './contracts.ts';
import { word } from './word.ts';

export const processors: Processors<typeof contracts> = {
  'word.say': ({ n }) => {
    if (n < 0) throw new RangeError('below zero');
    return word;
  },
  // Until it is told to stop, or all the same for a second after that; in new code they are done at once.
  'word.wait': async ({ deaf }, { signal }) => {
    if (word !== 'one') return word;
    console.log('at work');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (!deaf) signal.throwIfAborted();
    await sleep(1000);
    return word;
  },
};`;

interface Project extends Started {
  readonly directory: string;
  readonly url: string;
  /** Writes a file of the jobs, as an editor does. */
  write(name: string, text: string): Promise<void>;
  put(kind: string, payload: object): Promise<{ status: number; id: string }>;
  /** The job once it has ended. */
  ended(id: string): Promise<{ status: string; result: unknown; attempts: number }>;
}

/** `project`: contracts and processors and nothing else, as `npx millrace dev` runs them, for the whole file. */
const test = base.extend('project', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }): Promise<Project> => {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-dev-'));
  await mkdir(join(directory, 'jobs'));
  await mkdir(join(directory, 'node_modules'));
  await symlink(root, join(directory, 'node_modules', 'millrace'));
  await symlink(join(root, 'node_modules', 'zod'), join(directory, 'node_modules', 'zod'));
  const write = async (name: string, text: string) => {
    const file = join(directory, 'jobs', name);
    await writeFile(`${file}~`, text);
    await rename(`${file}~`, file);
  };
  await write('contracts.ts', CONTRACTS);
  await write('processors.ts', PROCESSORS);
  await write('word.ts', `export const word = 'zero';`);
  const modules = ['--contracts', 'jobs/contracts.ts', '--processors', './jobs/processors.ts'];
  const started = launch(directory, { DATABASE_URL: fileDatabase.url }, ['--port', '0', ...modules]);
  onCleanup(async () => {
    await started.stop();
    await rm(directory, { recursive: true, force: true });
  });
  // It was read, and nobody watches yet.
  await until(() => globSync('.millrace/cdk.out/**/millrace-build.json', { cwd: directory }).length > 0);
  await write('word.ts', `export const word = 'one';`);
  const url = await started.ready;
  const asked = async (path: string, init?: RequestInit) => (await fetch(`${url}${path}`, init)).json();
  return {
    ...started,
    directory,
    url,
    write,
    put: async (kind, payload) => {
      const body = JSON.stringify({ kind, payload });
      const answer = await fetch(`${url}/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      return { status: answer.status, id: ((await answer.json()) as { id: string }).id };
    },
    ended: async (id) => (await asked(`/jobs/${id}?wait=20&include=result`)) as Awaited<ReturnType<Project['ended']>>,
  };
});

async function said({ put, ended }: Project): Promise<unknown> {
  return (await ended((await put('word.say', { n: 1 })).id)).result;
}

const WITHIN = { timeout: 10_000, interval: 100 };

test('a project without a CDK app runs by its two modules, as they are after edits during the start, and the hint is about a kind of its own', async ({
  project,
}) => {
  await expect.poll(() => said(project), WITHIN).toBe('one');
  expect(project.output()).toContain(`curl ${project.url}/jobs `);
  expect(project.output()).toContain(`npx millrace enqueue word.say '{}'`);
  expect(await infoOf(project.directory)).toMatchObject({ url: project.url });
});

test('a failure leads to the line of the source', async ({ project }) => {
  await project.put('word.say', { n: -1 });
  await expect
    .poll(project.output, WITHIN)
    .toMatch(
      /failed {5}word\.say \S+ {2}attempt 1: RangeError: below zero; again in .* s {2}at jobs\/processors\.ts:9:22$/m,
    );
});

test('a reload loses no job that is at work: it finishes, or goes back with its attempt', async ({ project }) => {
  const [listening, deaf] = [
    await project.put('word.wait', { deaf: false }),
    await project.put('word.wait', { deaf: true }),
  ];
  await expect.poll(() => project.output().match(/at work/g)?.length, WITHIN).toBe(2);
  await project.write('word.ts', `export const word = 'two';`);
  // Each has one attempt: that it is there for the new code shows that the old gave it back.
  expect(await project.ended(listening.id)).toMatchObject({ status: 'completed', result: 'two', attempts: 1 });
  expect(await project.ended(deaf.id)).toMatchObject({ status: 'completed', result: 'one', attempts: 1 });
  expect(project.output()).toMatch(/reloaded {3}jobs\/word\.ts {2}in \d+ ms/);
});

test('what does not compile is said, and the code from before goes on until it is mended', async ({ project }) => {
  await project.write('word.ts', `export const word = 'thr`);
  await expect.poll(project.output, WITHIN).toContain('not reloaded, the code from before goes on: jobs/word.ts:1:');
  expect(await said(project)).toBe('two');
  await project.write('word.ts', `export const word = 'three';`);
  await expect.poll(() => said(project), WITHIN).toBe('three');
});

test('files are removed, and what imports them is mended by one in a new folder', async ({ project }) => {
  await rm(join(project.directory, 'jobs', 'word.ts'));
  await expect.poll(project.output, WITHIN).toMatch(/goes on: jobs\/processors\.ts:\d+:\d+: Could not resolve/);
  await project.write('processors.ts', PROCESSORS.replace('./word.ts', './words/word.ts'));
  await mkdir(join(project.directory, 'jobs', 'words'));
  await project.write('words/word.ts', `export const word = 'four';`);
  await expect.poll(() => said(project), WITHIN).toBe('four');
  await project.write('words/word.ts', `export const word = 'five';`);
  await expect.poll(() => said(project), WITHIN).toBe('five');
});

test('the API checks by the contracts as they are now', async ({ project }) => {
  expect(await project.put('word.say', { n: 'seven' })).toMatchObject({ status: 422 });
  await project.write('contracts.ts', CONTRACTS.replace('n: z.int()', 'n: z.string()'));
  await expect.poll(async () => (await project.put('word.say', { n: 'seven' })).status, WITHIN).toBe(201);
});

test('Ctrl-C drains and leaves nothing', async ({ project }) => {
  const pids = (await infoOf(project.directory))?.workers ?? [];
  expect(pids).not.toEqual([]);
  project.child.kill('SIGINT');
  expect(await project.exited).toBe(0);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  expect(existsSync(join(project.directory, '.millrace', 'runtime.json'))).toBe(false);
});
