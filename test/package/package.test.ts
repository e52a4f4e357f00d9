import { globSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { problemsOf } from '../../bin/pack/check.ts';
import { missingPeer } from '../../cli/missing-peer.ts';
import { startLambdaApi } from '../support/lambda-api.ts';
import { type Built, built, root } from './built.ts';

let own: Built;
beforeAll(async () => {
  own = await built();
}, 120_000);
afterAll(() => own?.remove());

/** What Node says of that program in the project. */
async function run(program: string): Promise<string> {
  await writeFile(join(own.project, 'program.mjs'), program);
  const { all } = await execa(process.execPath, ['program.mjs'], { cwd: own.project, all: true, reject: false });
  return all;
}

test('attw and publint find nothing wrong with the tarball', { timeout: 60_000 }, async () => {
  expect(await problemsOf(own.tarball)).toEqual([]);
});

test('they would find a face whose types are not there', { timeout: 60_000 }, async () => {
  const manifest = readFileSync(join(own.folder, 'package.json'), 'utf8');
  await writeFile(join(own.folder, 'package.json'), manifest.replaceAll('./client/index.d.ts', './client/none.d.ts'));
  await execa('npm', ['pack', '--silent', own.folder, '--pack-destination', own.folder], { cwd: own.project });
  await writeFile(join(own.folder, 'package.json'), manifest);
  const broken = new Uint8Array(readFileSync(join(own.folder, `millrace-${own.manifest.version}.tgz`)));
  const problems = await problemsOf(broken);
  expect(problems.join('\n')).toMatch(/attw: .*\.\/client/);
  expect(problems.join('\n')).toMatch(/publint: .*client\/none\.d\.ts/);
});

test('what a producer installs is under 4.5 MB: the package, and what it depends on', () => {
  const bytes = sizeOf(own.folder) + [...closure(own.manifest.dependencies)].reduce((sum, at) => sum + sizeOf(at), 0);
  // 3.9 MB, of which 2.5 are the package. The promise is 5.
  expect(bytes).toBeLessThan(4_500_000);
  // Were the walk to end at once, it would hold no more than these.
  expect(closure(own.manifest.dependencies).size).toBeGreaterThan(15);
});

/** Folders of those packages and of all that they depend on, as they are installed here. */
function closure(dependencies: Readonly<Record<string, string>>, from = root, found = new Set<string>()): Set<string> {
  for (const name of Object.keys(dependencies)) {
    const folder = folderOf(name, from);
    if (found.has(folder)) continue;
    found.add(folder);
    closure(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies ?? {}, folder, found);
  }
  return found;
}

function folderOf(name: string, from: string): string {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (globSync(join(folder, 'package.json')).length > 0) return folder;
    if (at === dirname(at)) throw new Error(`${name} is not installed for ${from}`);
  }
}

function sizeOf(folder: string): number {
  const files = globSync('**/*', { cwd: folder, withFileTypes: true, exclude: ['node_modules'] });
  return files
    .filter((file) => file.isFile() && !file.name.endsWith('.tgz'))
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

test('a command says which optional package it needs', async () => {
  const millrace = (...args: string[]) =>
    execa(process.execPath, [join(own.folder, 'bin/millrace.js'), ...args], { reject: false, cwd: own.project });
  const { stdout } = await millrace('--help');
  expect(stdout).toContain('npx millrace');
  // Whatever else fails is said as it is.
  expect(missingPeer(new Error('boom'))).toBeUndefined();
  expect((await millrace('work')).stderr).toMatch(/needs zod, .* npm install --save-dev zod/);
});

test('a producer needs no peer for ./client, and zod alone for ./queue', async () => {
  expect(await run(`import { Client } from 'millrace/client'; console.log(typeof Client);`)).toBe('function');
  const enqueues = `import { enqueue } from 'millrace/queue'; console.log(typeof enqueue);`;
  expect(await run(enqueues)).toMatch(/Cannot find package 'zod'/);
  await own.link('zod');
  expect(await run(enqueues)).toBe('function');
});

test('a producer that wakes workers brings no SDK: it is in the package', async () => {
  const lambda = await startLambdaApi();
  try {
    const wakes = `
      Object.assign(process.env, {
        WAKE_FUNCTIONS: '{"*": "Shop-Work", "video": "Shop-Video"}',
        AWS_ENDPOINT_URL_LAMBDA: '${lambda.url}',
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
      });
      const { wake } = await import('millrace/wake');
      const nobodyThere = { query: async (_, [workers]) => ({ rows: workers.map((worker) => ({ worker })) }) };
      console.log(JSON.stringify(await wake(nobodyThere, ['video'])));`;
    expect(await run(wakes)).toBe('{"started":["Shop-Video"]}');
    expect(lambda.invoked).toEqual([{ name: 'Shop-Video', type: 'Event', event: { slot: 0, woken: true } }]);
  } finally {
    await lambda.close();
  }
});

test('what the construct needs and the project lacks is named', { timeout: 60_000 }, async () => {
  const synth = `
    import { writeFileSync } from 'node:fs';
    import { App, Stack } from 'aws-cdk-lib';
    import { JobQueue } from 'millrace';
    for (const name of ['contracts', 'processors']) writeFileSync(name + '.ts', 'export const ' + name + ' = {};');
    try {
      new JobQueue(new Stack(new App(), 'Shop'), 'Jobs', { contracts: 'contracts.ts', processors: 'processors.ts' });
    } catch (error) {
      console.log(error.message);
    }`;
  expect(await run(synth)).toMatch(/Cannot find package 'aws-cdk-lib'/);
  await own.link('aws-cdk-lib', 'constructs');
  expect(await run(synth)).toMatch(/npm install --save-dev esbuild/);
});

test('what nobody needs stays out', () => {
  const files = globSync('**/*', { cwd: own.folder, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(own.folder.length + 1));
  const stray = files.filter((path) =>
    /(^|\/)(test|bench|examples|node_modules|demo|sam)\/|\.map$|^functions\/jobs\/|(?<!\.d)(?<!template\/.*)\.ts$/.test(
      path,
    ),
  );
  expect(stray).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      'bin/millrace.js',
      'cli/init/template/bin/app.ts',
      'lib/default-app.js',
      'local/sandbox-process-main.js',
      'local/sandbox-thread-main.js',
      'migrations/0001_jobs.sql',
      'LICENSE',
      'THIRD-PARTY-NOTICES',
    ]),
  );
});

test('it uses nothing that Node 20 lacks', () => {
  const newer =
    /\b(Promise\.(withResolvers|try)|Array\.fromAsync|(Map|Object)\.groupBy|globSync|RegExp\.escape|Iterator\.\w+|Error\.isError)\b|\.(values|entries|keys)\(\)\.(map|filter|find|some|every|reduce|toArray|forEach)\(|\bnew Set\([^)]*\)\.(union|intersection|difference|isSubsetOf)\(|^\s*(await )?using \w/m;
  const users = globSync('**/*.js', { cwd: own.folder }).filter(
    (path) => !path.startsWith('functions/') && newer.test(codeOf(path)),
  );
  expect(users).toEqual([]);
});

function codeOf(path: string): string {
  const text = readFileSync(join(own.folder, path), 'utf8');
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

test('everything that is bundled is named with its licence', () => {
  const notices = readFileSync(join(own.folder, 'THIRD-PARTY-NOTICES'), 'utf8');
  for (const name of [
    '@aws-sdk/client-lambda',
    '@aws-sdk/client-secrets-manager',
    '@aws-sdk/rds-signer',
    '@middy/core',
  ]) {
    expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((Apache-2.0|MIT)\\)$`, 'm'));
  }
  expect(notices).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION');
});
