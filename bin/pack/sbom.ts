import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Package } from './licences.ts';

/** What of the repository's package.json it is made of. */
export interface Own {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** CycloneDX 1.5, as far as it is read here. */
export interface Sbom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly [field: string]: unknown;
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
  readonly [field: string]: unknown;
}

/** What is in the package, and what comes with it when it is installed, at the versions of our lock. Peers are the project's. */
export function sbomOf(root: string, own: Own, bundled: readonly Package[]): Sbom {
  const { name, version } = own;
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sbom-'));
  try {
    const manifest = { name, version, license: own.license, dependencies: own.dependencies };
    const { lockfileVersion, packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const lock = { name, version, lockfileVersion, packages: { ...packages, '': manifest } };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    // Drops from the lock what only we work with: of a tree that has both, `npm sbom --omit dev` leaves out what they share (pg).
    npm(folder, 'install', '--package-lock-only', '--offline', '--ignore-scripts', '--no-audit', '--no-fund');
    const installed = JSON.parse(npm(folder, 'sbom', '--package-lock-only', '--sbom-format', 'cyclonedx')) as Sbom;
    const { component } = installed.metadata;
    return {
      ...installed,
      // npm names it by the folder.
      metadata: { ...installed.metadata, component: { ...component, name } },
      components: [...installed.components, ...bundled.map(asComponent)],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', shell: process.platform === 'win32' });
}

/** Every package in it with its licence. */
export function licencesIn({ components }: Sbom): Omit<Package, 'folder'>[] {
  return components.map(({ name, version, licenses = [] }) => ({
    name,
    version,
    licence:
      licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? 'none').join(' AND ') ||
      'none',
  }));
}

/** Its code is in our files, so no hash of a tarball says what that is. */
function asComponent({ name, version, licence }: Package): Component {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return {
    'bom-ref': `bundled:${name}@${version}`,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl,
    properties: [{ name: 'millrace:bundled', value: 'true' }],
    licenses: [{ expression: licence }],
  };
}
