import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface InstalledPackage {
  readonly version: string;
  /** Where it lies, once links are followed. */
  readonly realFolder: string;
}

/** The package that a module would get by that name, whoever installed it and however; undefined if it would get none. */
export function installedPackage(name: string, importer: string): InstalledPackage | undefined {
  const manifest = above(importer, join('node_modules', name, 'package.json'));
  if (manifest === undefined) return undefined;
  const { version = '' } = readJson(manifest) as { version?: string };
  return { version, realFolder: dirname(realpathSync(manifest)) };
}

/** The nearest of that name beside the file or in a folder above it. */
export function above(file: string, name: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const candidate = join(folder, name);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return undefined;
  }
}

export function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Folders of all packages below `node_modules` in that folder, those in packages included. */
export function packagesIn(folder: string): string[] {
  const modules = join(folder, 'node_modules');
  return readdirSync(modules, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(^|[\\/]node_modules[\\/])(@[^\\/]+[\\/])?[^\\/]+[\\/]package\.json$/.test(file))
    .sort()
    .map((file) => dirname(join(modules, file)));
}

export function manifestOf(folder: string) {
  return readJson(join(folder, 'package.json')) as {
    name?: string;
    gypfile?: boolean;
    optionalDependencies?: Record<string, string>;
    scripts?: Record<string, string>;
  };
}
