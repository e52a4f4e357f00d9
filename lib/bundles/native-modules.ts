import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { scriptsNotRun } from './install-scripts.ts';
import { above, installedPackage, readJson } from './installed-package.ts';
import { install } from './npm-install.ts';

/** What installed packages must run on: Lambda's Linux, or the machine that synthesizes, which the local runtime runs them on. */
export type Platform = { readonly os: 'linux'; readonly cpu: 'arm64' | 'x64'; readonly libc: 'glibc' } | 'host';

/** Lambda's, unless the context says that the bundles stay on this machine. */
export function platformOf(scope: Construct, architecture: lambda.Architecture): Platform {
  if (scope.node.tryGetContext('millrace:host')) return 'host';
  const cpu = architecture.name === lambda.Architecture.X86_64.name ? 'x64' : 'arm64';
  return { os: 'linux', cpu, libc: 'glibc' };
}

export interface InstallOptions {
  /** The module that imports the packages: what it would find is what is installed. */
  readonly importer: string;
  readonly platform: Platform;
  /** Told of packages that would like to run a script. @default - nobody is */
  readonly warn?: ((message: string) => void) | undefined;
}

/**
 * Resolves a folder whose `node_modules` has those packages with all that they depend on, for that platform. npm installs them,
 * without running their scripts, at the versions that the project has; a package-lock.json also settles those of their
 * dependencies. It is done once: the folder is kept until the versions or the lock change.
 * @throws Error that names a package which the project does not have, or that would have to be compiled
 */
export function installed(names: readonly string[], { importer, platform, warn }: InstallOptions): string {
  const dependencies = Object.fromEntries([...names].sort().map((name) => [name, versionOf(name, importer)]));
  const lock = above(importer, 'package-lock.json');
  const files = {
    'package.json': { name: 'bundle', version: '0.0.0', private: true, dependencies },
    ...(lock !== undefined && { 'package-lock.json': lockOf(lock, dependencies) }),
  };
  const key = createHash('sha256')
    .update(JSON.stringify([files, platform, hostOf(platform)]))
    .digest('hex')
    .slice(0, 16);
  const folder = join(cacheOf(importer), key);
  if (!existsSync(folder)) install(folder, files, { importer, platform });
  for (const message of scriptsNotRun(folder)) warn?.(message);
  return folder;
}

function versionOf(name: string, importer: string): string {
  const found = installedPackage(name, importer);
  if (found === undefined) {
    throw new Error(
      `bundling.nodeModules names "${name}", which ${importer} could not import: install it in the project (npm install ${name}).`,
    );
  }
  if (!found.realFolder.includes('node_modules')) {
    throw new Error(
      `bundling.nodeModules names "${name}", which lies in the project itself (${found.realFolder}): leave it out, it is bundled. ` +
        `If it depends on packages with native code, name those.`,
    );
  }
  return found.version;
}

/** The project's lock with our wishes in place of its own: npm keeps what still fits, at its version, and drops the rest. */
function lockOf(file: string, dependencies: Readonly<Record<string, string>>): object {
  const { lockfileVersion, packages = {} } = readJson(file) as {
    lockfileVersion?: number;
    packages?: Record<string, { link?: boolean }>;
  };
  const kept = Object.entries(packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link);
  return {
    name: 'bundle',
    version: '0.0.0',
    lockfileVersion,
    packages: { '': { name: 'bundle', version: '0.0.0', dependencies }, ...Object.fromEntries(kept) },
  };
}

function hostOf(platform: Platform): string {
  return platform === 'host' ? `${process.platform}-${process.arch}` : '';
}

/** Beside the packages of the project: what removes those removes it too. */
function cacheOf(importer: string): string {
  const modules = above(importer, 'node_modules');
  return modules === undefined ? join(tmpdir(), 'millrace-modules') : join(modules, '.cache', 'millrace');
}
