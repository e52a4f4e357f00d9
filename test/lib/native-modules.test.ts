import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { App, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { describe, expect, onTestFinished, test } from 'vitest';
import { installed, type Platform, platformOf } from '../../lib/bundles/native-modules.ts';

const run = promisify(execFile);
const MODULE = new URL('../../lib/bundles/native-modules.ts', import.meta.url).href;
const LAMBDA: Platform = { os: 'linux', cpu: 'arm64', libc: 'glibc' };

type Files = Readonly<Record<string, string | object>>;

async function folderOf(files: Files): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-native-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, contents] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), typeof contents === 'string' ? contents : JSON.stringify(contents));
  }
  return folder;
}

/** A package as a tarball, and what a project's lock says of it. */
async function published(name: string, manifest: object, files: Files = {}): Promise<object> {
  const folder = await folderOf({ ...files, 'package.json': { name, version: '1.2.3', ...manifest } });
  const { stdout } = await run('npm', ['pack', '--silent'], { cwd: folder });
  return { version: '1.2.3', resolved: `file:${join(folder, stdout.trim())}`, ...manifest };
}

/** A registry on loopback that has these packages. Resolves its URL. */
async function registryOf(packages: Readonly<Record<string, object>>): Promise<string> {
  const server = createServer(async ({ url = '' }, response) => {
    const name = url.slice(1).replace(/\.tgz$/, '');
    const entry = packages[name] as { version: string; resolved: string } | undefined;
    if (entry === undefined) return void response.writeHead(404).end();
    if (url.endsWith('.tgz')) return void response.end(await readFile(entry.resolved.replace('file:', '')));
    const dist = { tarball: `http://${host()}/${name}.tgz` };
    const versions = { [entry.version]: { name, ...entry, dist } };
    response.end(JSON.stringify({ name, 'dist-tags': { latest: entry.version }, versions }));
  });
  const host = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `http://${host()}/`;
}

/** A project that has these packages installed; the path of a module in it. */
async function projectWith(
  packages: Readonly<Record<string, object>>,
  // Nothing but the tarballs of the lock can be had, which shows as well that the project's own settings of npm count.
  registry = 'http://127.0.0.1:1/',
): Promise<string> {
  const names = Object.keys(packages);
  const modules = names.map((name) => [`node_modules/${name}/package.json`, { name, version: '1.2.3' }]);
  const locked = Object.entries(packages).map(([name, entry]) => [`node_modules/${name}`, entry]);
  const project = await folderOf({
    ...Object.fromEntries(modules),
    'package-lock.json': { lockfileVersion: 3, packages: { '': { name: 'app' }, ...Object.fromEntries(locked) } },
    '.npmrc': `registry=${registry}\nfetch-retries=0\n`,
    'jobs/processors.ts': '',
  });
  return join(project, 'jobs', 'processors.ts');
}

/** Builds for two machines, as packages of napi-rs have them. */
const fast = async () => ({
  fast: await published('fast', {
    dependencies: { helper: '^1.0.0' },
    optionalDependencies: { 'fast-linux-arm64': '1.2.3', 'fast-linux-x64': '1.2.3' },
  }),
  helper: await published('helper', {}),
  'fast-linux-arm64': await published('fast-linux-arm64', { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] }),
  'fast-linux-x64': await published('fast-linux-x64', { os: ['linux'], cpu: ['x64'], libc: ['glibc'] }),
  'not-asked-for': await published('not-asked-for', {}),
});

const contentsOf = async (folder: string) =>
  (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.')).sort();

describe('packages are installed', () => {
  test.each(['arm64', 'x64'] as const)('for a Lambda on %s, whatever this machine is', async (cpu) => {
    const importer = await projectWith(await fast());
    const folder = installed(['fast'], { importer, platform: { ...LAMBDA, cpu } });
    expect(await contentsOf(folder)).toEqual(['fast', `fast-linux-${cpu}`, 'helper']);
  });

  test('once, until the lock changes', async () => {
    const packages = await fast();
    const importer = await projectWith(packages);
    const first = installed(['fast'], { importer, platform: LAMBDA });
    const { ino } = await stat(join(first, 'package.json'));
    expect(installed(['fast'], { importer, platform: LAMBDA })).toBe(first);
    expect((await stat(join(first, 'package.json'))).ino).toBe(ino);
    expect(dirname(first)).toBe(join(dirname(importer), '../node_modules/.cache/millrace'));

    const lock = join(dirname(importer), '../package-lock.json');
    const { packages: locked, ...others } = JSON.parse(await readFile(lock, 'utf8'));
    delete locked['node_modules/not-asked-for'];
    await writeFile(lock, JSON.stringify({ ...others, packages: locked }));
    expect(installed(['fast'], { importer, platform: LAMBDA })).not.toBe(first);
  });

  test('for that platform even where the lock knows only the one of its author', async () => {
    const packages = await fast();
    const { 'fast-linux-arm64': _, ...locked } = packages;
    const importer = await projectWith(locked, await registryOf(packages));
    // In another process: this one has to answer for the registry meanwhile.
    const script = `const { installed } = await import(${JSON.stringify(MODULE)});
      console.log(installed(['fast'], ${JSON.stringify({ importer, platform: LAMBDA })}));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
    expect(await contentsOf(stdout.trim())).toEqual(['fast', 'fast-linux-arm64', 'helper']);
  });

  test('at the version that the importing module would get', async () => {
    const importer = await projectWith({ helper: await published('helper', {}) });
    await mkdir(join(dirname(importer), 'node_modules/helper'), { recursive: true });
    await writeFile(join(dirname(importer), 'node_modules/helper/package.json'), '{"version":"7.7.7"}');
    expect(() => installed(['helper'], { importer, platform: LAMBDA })).toThrow(
      /^npm could not install what bundling\.nodeModules names:\n[\s\S]*127\.0\.0\.1:1\/helper/,
    );
  });
});

describe('packages are refused', () => {
  test('that the project does not have', async () => {
    const importer = await projectWith({});
    expect(() => installed(['sharp'], { importer, platform: LAMBDA })).toThrow(
      `bundling.nodeModules names "sharp", which ${importer} could not import: install it in the project (npm install sharp).`,
    );
  });

  test('that are part of the project', async () => {
    const importer = await projectWith({});
    const folder = await folderOf({ 'package.json': { name: 'ours', version: '1.0.0' } });
    await mkdir(join(dirname(importer), '../node_modules'), { recursive: true });
    await symlink(folder, join(dirname(importer), '../node_modules/ours'));
    expect(() => installed(['ours'], { importer, platform: LAMBDA })).toThrow(
      /"ours", which lies in the project itself/,
    );
  });

  test('that would have to be compiled, and nothing of them stays', async () => {
    const recipe = { 'binding.gyp': '{}', 'index.js': '' };
    const importer = await projectWith({ slow: await published('slow', {}, recipe) });
    expect(() => installed(['slow'], { importer, platform: LAMBDA })).toThrow(
      /^"slow" in bundling\.nodeModules brings no prebuilt binary/,
    );
    expect(await readdir(join(dirname(importer), '../node_modules/.cache/millrace'))).toEqual([]);
  });

  test('but not those that bring what a compiler would make', async () => {
    const recipe = { 'binding.gyp': '{}', 'prebuilds/linux-arm64/slow.node': '' };
    const importer = await projectWith({ slow: await published('slow', {}, recipe) });
    expect(await contentsOf(installed(['slow'], { importer, platform: LAMBDA }))).toEqual(['slow']);
  });
});

test('scripts are not run, and each time somebody is told of them', async () => {
  const scripts = { scripts: { postinstall: 'touch ran', test: 'true' } };
  const importer = await projectWith({ eager: await published('eager', scripts) });
  const said: string[] = [];
  for (const warn of [(message: string) => said.push(message), (message: string) => said.push(message)]) {
    const folder = installed(['eager'], { importer, platform: LAMBDA, warn });
    expect(await readdir(join(folder, 'node_modules/eager'))).toEqual(['package.json']);
  }
  expect(said).toEqual(
    Array(2).fill(expect.stringMatching(/^"eager", which .* \(postinstall\), and scripts are not run/)),
  );
});

test('the platform is that of the functions, or this machine if the bundles stay on it', () => {
  const stack = (context: Record<string, unknown>) => new Stack(new App({ context }));
  expect(platformOf(stack({}), lambda.Architecture.ARM_64)).toEqual(LAMBDA);
  expect(platformOf(stack({}), lambda.Architecture.X86_64)).toEqual({ ...LAMBDA, cpu: 'x64' });
  expect(platformOf(stack({ 'millrace:host': true }), lambda.Architecture.ARM_64)).toBe('host');
});
