import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ownSpec } from '../../cli/init/own-spec.ts';
import { plan } from '../../cli/init/plan.ts';
import { readProject } from '../../cli/init/project.ts';
import { VERSIONS } from '../../cli/init/versions.ts';
import { here, type Said } from './here.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A folder with these files in it. */
function project(files: Readonly<Record<string, string | object>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-init-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), typeof contents === 'string' ? contents : JSON.stringify(contents, null, 2));
  }
  return folder;
}

/** What it says there, with nothing installed. */
async function init(folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(folder, ...args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  return stderr.trimEnd();
}

async function run(folder: string, ...args: string[]): Promise<Said> {
  return installing(folder, '--no-install', ...args);
}

async function installing(folder: string, ...args: string[]): Promise<Said> {
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder);
  return here('init', '--package', '^0.1.0', ...args).finally(() => cwd.mockRestore());
}

/** Every file in it with its text. */
function filesOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    paths.sort().map((path) => [path.slice(folder.length + 1).replaceAll(sep, '/'), readFileSync(path, 'utf8')]),
  );
}

const planned = (folder: string, force = false) => {
  const { changes, left } = plan(readProject(folder), { spec: () => '^0.1.0', force });
  return {
    paths: changes.map(({ path }) => path),
    texts: new Map(changes.map(({ path, text }) => [path, text])),
    left,
  };
};
const manifestIn = (folder: string) => JSON.parse(planned(folder).texts.get('package.json') ?? 'null');

test('an empty folder becomes a project, and a second run has nothing to do', async () => {
  const folder = project();
  const said = await init(folder);
  const files = filesOf(folder);
  expect(Object.keys(files)).toEqual([
    '.gitignore',
    'bin/app.ts',
    'cdk.json',
    'jobs/contracts.ts',
    'jobs/processors.test.ts',
    'jobs/processors.ts',
    'package.json',
    'tsconfig.json',
  ]);
  for (const path of Object.keys(files)) expect(said).toContain(`  ${path} `);
  expect(said).toMatch(/npm install\n.*npx millrace dev.*\n.*npx millrace enqueue welcome\.send/);
  expect(await init(folder)).toBe('Nothing to do: all of it is there.');
  expect(filesOf(folder)).toEqual(files);
});

test('--dry-run writes nothing', async () => {
  const folder = project();
  expect(await init(folder, '--dry-run')).toMatch(/^It would write:\n {2}package\.json /);
  expect(filesOf(folder)).toEqual({});
});

const app = {
  'package.json': { name: 'shop', scripts: { test: 'jest', dev: 'tsx watch' }, devDependencies: { jest: '^30' } },
  'cdk.json': { app: 'npx tsx bin/shop.ts' },
  'bin/shop.ts': `import { ShopStack } from '../lib/shop-stack';\n`,
  'lib/shop-stack.ts': 'export class ShopStack extends cdk.Stack {}\n',
  '.gitignore': 'node_modules\ncdk.out',
};

test('of a CDK app nothing is changed but what is missing in package.json and .gitignore, and the lines to add are said', async () => {
  const folder = project(app);
  const before = filesOf(folder);
  const said = await init(folder);
  expect(said).toContain("Add to lib/shop-stack.ts:\n\n  import { JobQueue } from 'millrace';");
  const after = filesOf(folder);
  expect(Object.keys(after).filter((path) => after[path] !== before[path])).toEqual([
    '.gitignore',
    'jobs/contracts.ts',
    'jobs/processors.node-test.ts',
    'jobs/processors.ts',
    'package.json',
  ]);
  expect(after['.gitignore']).toBe('node_modules\ncdk.out\n.millrace/\n');
  expect(JSON.parse(after['package.json'] ?? '')).toMatchObject({
    name: 'shop',
    scripts: {
      test: 'jest',
      dev: 'tsx watch',
      'dev:jobs': 'millrace dev',
      'test:jobs': expect.stringMatching(/node-test/),
    },
    dependencies: { millrace: '^0.1.0', zod: VERSIONS.zod },
    devDependencies: { jest: '^30', esbuild: VERSIONS.esbuild },
  });
  // The lines are not there yet.
  expect(await init(folder)).toMatch(/^Nothing to do.*\n\nAdd to lib/);
  writeFileSync(join(folder, 'lib/shop-stack.ts'), `import { JobQueue } from 'millrace';\n`);
  expect(await init(folder)).toBe('Nothing to do: all of it is there.');
});

test('what is there and differs is left, and said; only --force overwrites it', async () => {
  const folder = project({ 'jobs/contracts.ts': 'export const contracts = {};\n' });
  expect(await init(folder)).toMatch(/ {2}jobs\/contracts\.ts +is there and differs: left as it is \(--force/);
  expect(filesOf(folder)['jobs/contracts.ts']).toBe('export const contracts = {};\n');
  await init(folder, '--force');
  expect(filesOf(folder)['jobs/contracts.ts']).toContain('welcome.send');
});

test('whoever has jobs of their own gets no sample of ours', () => {
  const folder = project({ 'jobs/contracts.ts': '// own\n', 'jobs/processors.ts': '// own\n' });
  expect(planned(folder).paths.filter((path) => path.startsWith('jobs/'))).toEqual([]);
  expect(planned(folder).left).toEqual([]);
});

test("an application's own bin/app.ts is not taken for the CDK app", () => {
  const folder = project({ 'bin/app.ts': 'console.log("a server");\n' });
  expect(planned(folder).paths).toContain('cdk/app.ts');
  expect(planned(folder).texts.get('cdk.json')).toContain('tsx cdk/app.ts');
});

test('a package.json keeps its indent, its type and its versions', () => {
  const own = `{\n\t"name": "shop",\n\t"dependencies": { "zod": "^4.1.0", "millrace": "file:../m.tgz" }\n}\n`;
  const text = planned(project({ 'package.json': own })).texts.get('package.json') ?? '';
  expect(text).toContain('\n\t"name": "shop"');
  expect(JSON.parse(text)).toMatchObject({ dependencies: { zod: '^4.1.0', millrace: 'file:../m.tgz' } });
  expect(JSON.parse(text)).not.toHaveProperty('type');
});

test.for(['{ name: ', 'null', '[]', '{"scripts":[]}'])(
  'one that is no manifest is said, and left: %s',
  async (text) => {
    const folder = project({ 'package.json': text });
    expect(await run(folder)).toMatchObject({ code: 1, stderr: expect.stringMatching(/must be JSON as npm reads it/) });
    expect(filesOf(folder)).toEqual({ 'package.json': text });
  },
);

test('a byte order mark before it is no fault', () => {
  expect(manifestIn(project({ 'package.json': '\uFEFF{"name":"marked"}' }))).toMatchObject({ name: 'marked' });
});

test('a folder in which something cannot be written is said', async () => {
  const folder = project({ jobs: 'a file' });
  expect(await run(folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/jobs\/contracts\.ts cannot be written: .*Make it so, and run this again\.$/m),
  });
});

test('an installation that failed is made up for by the next run', async () => {
  const folder = project();
  // Without a network npm fails; with one it is test/consumer that installs.
  const bin = project({ npm: '#!/bin/sh\n[ -e .tried ] && exec mkdir -p node_modules/millrace\ntouch .tried; exit 1' });
  chmodSync(join(bin, 'npm'), 0o755);
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await installing(folder)).toMatchObject({ code: 1, stderr: expect.stringContaining('"npm install" failed') });
  const { code, stderr } = await installing(folder);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^All files are there, and their packages are not\.[\s\S]*npx millrace dev/),
  ]);
  expect((await installing(folder)).stderr).toBe('Nothing to do: all of it is there.\n');
});

test('the test that npm init writes is none, and makes way', () => {
  const folder = project({ 'package.json': { scripts: { test: 'echo "Error: no test specified" && exit 1' } } });
  expect(manifestIn(folder).scripts.test).toBe('node --import tsx --test jobs/*.test.ts');
});

test('with vitest the test is one of vitest', () => {
  const folder = project({ 'package.json': { scripts: { test: 'vitest' }, devDependencies: { vitest: '5.1.2' } } });
  expect(planned(folder).texts.get('jobs/processors.test.ts')).toContain("from 'vitest'");
  expect(manifestIn(folder).scripts).not.toHaveProperty('test:jobs');
});

test.each([
  ['package-lock.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
])('by %s it installs with %s, also in a workspace below', (lock, manager) => {
  const folder = project({ [lock]: '', 'packages/shop/.keep': '' });
  expect(readProject(folder).manager).toBe(manager);
  expect(readProject(join(folder, 'packages/shop')).manager).toBe(manager);
});

test('where no lock is yet, by what package.json names, and else by what runs it', () => {
  const env = { ...process.env };
  onTestFinished(() => {
    process.env = env;
  });
  process.env.npm_config_user_agent = 'pnpm/12.21.0 npm/? node/v24.4.1 linux x64';
  expect(readProject(project()).manager).toBe('pnpm');
  expect(readProject(project({ 'package.json': { packageManager: 'yarn@4.9.2' } })).manager).toBe('yarn');
  process.env.npm_config_user_agent = 'another/1.0.0';
  expect(readProject(project()).manager).toBe('npm');
});

test('what to do next is said in words of the manager, since npx refuses to run in a project of another', async () => {
  const said = await init(project({ 'pnpm-lock.yaml': '' }));
  expect(said).toMatch(/pnpm install\n {2}pnpm exec millrace dev .*\n {2}pnpm exec millrace enqueue/);
});

describe('the millrace that a project gets is the one that was run', () => {
  const packed = (files: Readonly<Record<string, object>>) =>
    project({ 'node_modules/millrace/package.json': { name: 'millrace', version: '0.3.0' }, ...files });
  const specFor = (installation: string, at: string) => ownSpec(at, join(installation, 'node_modules/millrace'));

  test('a tarball, by its path from the project', () => {
    const parent = project({ 'shop/.keep': '', 'cache/package.json': { dependencies: { millrace: 'file:../m.tgz' } } });
    cpSync(packed({}), join(parent, 'cache'), { recursive: true });
    expect(specFor(join(parent, 'cache'), join(parent, 'shop'))).toBe('file:../m.tgz');
    expect(specFor(join(parent, 'cache'), parent)).toBe('file:./m.tgz');
  });

  test('also by pnpm dlx, whose links lead elsewhere', () => {
    const own = 'cache/node_modules/.pnpm/millrace@file/node_modules/millrace';
    const parent = project({
      'cache/package.json': { dependencies: { millrace: 'file:/packages/m.tgz' } },
      [`${own}/package.json`]: { version: '0.3.0' },
    });
    expect(ownSpec('/packages/shop', join(parent, own))).toBe('file:../m.tgz');
  });

  test('a version, as npx was asked for it', () => {
    expect(specFor(packed({ 'package.json': { dependencies: { millrace: '^0.3.0' } } }), '/')).toBe('^0.3.0');
  });

  test('its own version, where nobody says', () => {
    expect(specFor(packed({}), '/')).toBe('^0.3.0');
  });

  test('in a checkout it must be said', () => {
    expect(() => ownSpec('/', root)).toThrow(/--package file:/);
  });
});

test('a new project starts with what this one is tried with', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const consumer = JSON.parse(readFileSync(join(root, 'test/consumer/stack/app/package.json'), 'utf8'));
  const tried = { ...consumer.devDependencies, ...devDependencies };
  const expected = Object.keys(VERSIONS).map((name) => [name, `^${tried[name]}`]);
  expect(VERSIONS).toEqual(Object.fromEntries(expected));
});
