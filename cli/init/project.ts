import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../cli-error.ts';

export type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export interface Manifest {
  name?: string;
  type?: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  [field: string]: unknown;
}

/** What there is in the folder already. */
export interface Project {
  readonly folder: string;
  /** A name for its package.json. */
  readonly name: string;
  readonly manifest: Manifest | undefined;
  /** Text of package.json. */
  readonly manifestText: string | undefined;
  readonly manager: Manager;
  /** What runs the project's tests. */
  readonly runner: 'node' | 'vitest' | 'jest';
  readonly hasCdkApp: boolean;
  /** The file of its stack, if just one looks like it. */
  readonly stackFile: string | undefined;
  /** Whether what it asks for was installed: an installation may have failed. */
  readonly hasPackages: boolean;
  /** Whether its CDK app has a queue of ours. */
  readonly hasQueue: boolean;
  /** Text of a file; undefined if there is none. */
  text(path: string): string | undefined;
}

/** @throws CliError if its package.json cannot be read */
export function readProject(folder: string): Project {
  const text = (path: string) => {
    const file = join(folder, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };
  const manifestText = text('package.json');
  const manifest = manifestText === undefined ? undefined : parsed(manifestText);
  const sources = sourcesOf(folder);
  const stacks = sources.filter((path) => /\bextends\s+(\w+\.)?Stack\b/.test(text(path) ?? ''));
  return {
    folder,
    name: packageName(folder),
    manifest,
    manifestText,
    manager: managerOf(folder, manifest),
    runner: runnerOf(manifest),
    hasPackages: hasPackages(folder),
    hasCdkApp: text('cdk.json') !== undefined,
    stackFile: stacks.length === 1 ? stacks[0] : undefined,
    hasQueue: sources.some((path) => /['"]millrace['"]/.test(text(path) ?? '')),
    text,
  };
}

function parsed(text: string): Manifest {
  try {
    // npm reads one with a byte order mark, too.
    const manifest: Manifest = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (!isObject(manifest)) throw new Error('it is no object');
    for (const field of ['scripts', 'dependencies', 'devDependencies']) {
      if (!isObject(manifest[field] ?? {})) throw new Error(`its "${field}" is no object`);
    }
    return manifest;
  } catch (cause) {
    const found = (cause as Error).message;
    throw new CliError(
      `package.json must be JSON as npm reads it, and is not: ${found}. Correct it first.`,
      undefined,
      { cause },
    );
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Here or in a folder above, as Node looks for them. */
function hasPackages(folder: string): boolean {
  const isThere = ['node_modules/millrace', '.pnp.cjs'].some((path) => existsSync(join(folder, path)));
  return isThere || (folder !== dirname(folder) && hasPackages(dirname(folder)));
}

/** TypeScript where CDK apps keep it. */
function sourcesOf(folder: string): string[] {
  return ['bin', 'cdk', 'infra', 'lib', 'src', 'stacks'].flatMap((below) => {
    if (!existsSync(join(folder, below))) return [];
    return readdirSync(join(folder, below), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?<!\.d)\.ts$/.test(path) && !/(^|[\\/])node_modules[\\/]/.test(path))
      .map((path) => join(below, path));
  });
}

/** By the lock that lies in the folder or in one above it, of which a workspace has one at its root; else by what is said. */
function managerOf(folder: string, manifest: Manifest | undefined): Manager {
  const locks: readonly (readonly [file: string, manager: Manager])[] = [
    ['package-lock.json', 'npm'],
    ['pnpm-lock.yaml', 'pnpm'],
    ['yarn.lock', 'yarn'],
    ['bun.lock', 'bun'],
  ];
  for (let at = folder; ; at = dirname(at)) {
    const found = locks.find(([file]) => existsSync(join(at, file)));
    if (found !== undefined) return found[1];
    if (at === dirname(at) || existsSync(join(at, '.git'))) break;
  }
  // Such as "pnpm@10.1.0", and as "pnpm/10.1.0 npm/? node/v24.1.0", which managers tell whatever they run.
  const said = [manifest?.packageManager, process.env.npm_config_user_agent].map((text) => /^\w+/.exec(`${text}`)?.[0]);
  return (said.find((name) => locks.some(([, manager]) => manager === name)) as Manager | undefined) ?? 'npm';
}

function runnerOf(manifest: Manifest = {}): Project['runner'] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  return all.vitest !== undefined ? 'vitest' : all.jest !== undefined ? 'jest' : 'node';
}

/** As npm would allow it. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  return name || 'jobs';
}
