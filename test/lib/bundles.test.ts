import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BundlesProps, Extras } from '../../lib/bundles/bundles.ts';
import { API_HANDLERS, bareBundle, handlerBundle } from '../support/handler-bundle.ts';

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bundles-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A project with these files in it. */
async function project(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporary();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** The folder of a bundle, as `cdk.out` has it. */
async function bundled(name: string, props: Partial<BundlesProps>, extras: Extras = {}): Promise<string> {
  return dirname(handlerBundle(name, await temporary(), props, extras));
}

/** A worker around the `processors.ts` among these files. */
async function worker(files: Readonly<Record<string, string>>, props: Partial<BundlesProps> = {}): Promise<string> {
  const projectRoot = await project(files);
  return bundled('work', { projectRoot, processors: join(projectRoot, 'processors.ts'), ...props });
}

/** What the processors' module writes when it is loaded. It ends the process, before a worker looks for its database. */
async function writtenBy(folder: string): Promise<string> {
  const source = `await (await import('./index.mjs')).handler({ slot: 0 }, { getRemainingTimeInMillis: () => 30000 })`;
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', LAMBDA_TASK_ROOT: folder };
  const run = await execa(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: folder,
    extendEnv: false,
    env,
  });
  return run.stdout
    .split('\n')
    .filter((line) => line.startsWith('> '))
    .join('\n');
}

describe('files of the project', () => {
  test('lie in the bundle where they are wanted', async () => {
    const files = {
      'processors.ts': `import { readFileSync } from 'node:fs';
        console.log('> ' + readFileSync(process.env.LAMBDA_TASK_ROOT + '/fonts/serif/a.txt', 'utf8')); process.exit();
        export const processors = {};`,
      'assets/fonts/serif/a.txt': 'Garamond',
      'b.txt': 'b',
    };
    const folder = await worker(files, { bundling: { files: { fonts: 'assets/fonts', 'data/b.txt': 'b.txt' } } });
    expect(await writtenBy(folder)).toBe('> Garamond');
    expect(await readFile(join(folder, 'data', 'b.txt'), 'utf8')).toBe('b');
  });

  test.each([
    [{ fonts: 'nowhere' }, /Error: bundling\.files names .*nowhere, and nothing is there\.$/],
    [{ '../fonts': 'b.txt' }, /"\.\.\/fonts" in bundling\.files must be a path inside the bundle/],
    [{ '/fonts': 'b.txt' }, /must be a path inside the bundle/],
    [{ '.': 'b.txt' }, /must be a path inside the bundle/],
    [{ 'index.mjs': 'b.txt' }, /"index\.mjs" in bundling\.files would take the place of the bundle's own/],
  ])('%o is refused', async (files, sentence) => {
    const own = { 'processors.ts': 'export const processors = {};', 'b.txt': 'b' };
    await expect(worker(own, { bundling: { files } })).rejects.toThrow(sentence);
  });
});

test('esbuild does as it is told, in the worker alone', async () => {
  const esbuild = { loader: { '.sql': 'text' }, define: { BUILD: '"7f3c"' }, external: ['by-a-layer'] } as const;
  const files = {
    'processors.ts': `import text from './q.sql';
      declare const BUILD: string;
      export const late = () => import('by-a-layer');
      console.log('> ' + BUILD + ' ' + text); process.exit();
      export const processors = {};`,
    'q.sql': 'SELECT 7',
  };
  expect(await writtenBy(await worker(files, { bundling: { esbuild } }))).toBe('> 7f3c SELECT 7');
  const other = await bundled('health', { bundling: { esbuild } });
  expect(await readdir(other)).toEqual(['index.mjs', 'index.mjs.map', 'millrace-build.json']);
});

test('errors of processors keep the names of their classes', async () => {
  const folder = await worker({
    'processors.ts': `class AddressGone extends Error {}
      console.log('> ' + AddressGone.name + ' ' + new AddressGone().constructor.name); process.exit();
      export const processors = {};`,
  });
  expect(await writtenBy(folder)).toBe('> AddressGone AddressGone');
});

test('what processors import of the SDK is the one of their project; ours stays beside it', async () => {
  const name = '@aws-sdk/client-secrets-manager';
  const folder = await bundled(
    'work',
    await (async () => {
      const projectRoot = await project({
        'processors.ts': `import { version } from '${name}'; console.log('> ' + version); process.exit(); export const processors = {};`,
        [`node_modules/${name}/index.js`]: `exports.version = 'theirs';`,
        [`node_modules/${name}/package.json`]: JSON.stringify({ name, version: '3.0.0', main: 'index.js' }),
      });
      return { projectRoot, processors: join(projectRoot, 'processors.ts') };
    })(),
    { sdk: ['secrets-manager', 'rds-signer'] },
  );
  expect(await writtenBy(folder)).toBe('> theirs');
  const source = `for (const part of ['secrets-manager', 'rds-signer']) console.log(Object.keys(await import('#sdk/' + part)).includes('SecretsManagerClient'))`;
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', source], { cwd: folder });
  expect(stdout.split('\n')).toEqual(['true', 'false']);
});

test('bundles bring the parts of the SDK that were asked for, and no others', async () => {
  const none = await bundled('health', {});
  expect(await readdir(none)).not.toContain('sdk');
  const one = await bundled('health', {}, { sdk: ['lambda'] });
  expect(JSON.parse(await readFile(join(one, 'package.json'), 'utf8'))).toEqual({
    imports: { '#sdk/lambda': './sdk/lambda.mjs' },
  });
});

test('modules of a project with links for packages, as pnpm has them, find what they import', async () => {
  const projectRoot = await project({
    'store/dep@1/node_modules/dep/index.js': `exports.name = require('deeper').name;`,
    'store/dep@1/node_modules/dep/package.json': '{"name":"dep"}',
    'store/deeper@1/node_modules/deeper/index.js': `exports.name = 'deeper';`,
    'store/deeper@1/node_modules/deeper/package.json': '{"name":"deeper"}',
    'packages/jobs/processors.ts': `import { name } from 'dep'; console.log('> ' + name); process.exit(); export const processors = {};`,
  });
  await mkdir(join(projectRoot, 'packages/jobs/node_modules'));
  await symlink(join(projectRoot, 'store/dep@1/node_modules/dep'), join(projectRoot, 'packages/jobs/node_modules/dep'));
  await symlink(
    join(projectRoot, 'store/deeper@1/node_modules/deeper'),
    join(projectRoot, 'store/dep@1/node_modules/deeper'),
  );
  const folder = await bundled('work', { projectRoot, processors: join(projectRoot, 'packages/jobs/processors.ts') });
  expect(await writtenBy(folder)).toBe('> deeper');
});

describe('what a cold start loads', () => {
  /** Packages in a bundle, by its source map. */
  async function packagesIn(file: string): Promise<string[]> {
    const { sources }: { sources: string[] } = JSON.parse(await readFile(`${file}.map`, 'utf8'));
    const names = sources.map((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1]);
    return [...new Set(names.filter((name) => name !== undefined))].sort();
  }

  test.each(API_HANDLERS)(
    '%s is at most half as large again as middy, pg and zod, and made of nothing else',
    async (name) => {
      const folder = await temporary();
      const bare = bareBundle(folder);
      const file = handlerBundle(name, folder);
      expect((await stat(file)).size).toBeLessThan(1.5 * (await stat(bare)).size);
      const allowed = [...(await packagesIn(bare)), 'uuid'];
      expect((await packagesIn(file)).filter((own) => !allowed.includes(own))).toEqual([]);
    },
  );
});
