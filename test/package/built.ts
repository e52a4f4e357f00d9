import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** The package in a project that has nothing else: `node_modules` has its dependencies, and no peer. */
export interface Built {
  readonly project: string;
  /** Where it lies in there. */
  readonly folder: string;
  readonly manifest: { readonly version: string; readonly dependencies: Readonly<Record<string, string>> };
  readonly tarball: Uint8Array<ArrayBuffer>;
  /** Gives the project what we have of these packages. */
  link(...names: string[]): Promise<void>;
  remove(): Promise<void>;
}

/** Builds the package as it would be published. */
export async function built(): Promise<Built> {
  const project = await mkdtemp(join(tmpdir(), 'millrace-package-'));
  const folder = join(project, 'node_modules', 'millrace');
  await execa(process.execPath, [join(root, 'bin/pack.ts'), '--out', folder]);
  const { stdout } = await execa('npm', ['pack', '--silent', folder], { cwd: project });
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const link = async (...names: string[]) => {
    for (const name of names) {
      const path = join(project, 'node_modules', name);
      await mkdir(dirname(path), { recursive: true });
      await symlink(join(root, 'node_modules', name), path, 'junction');
    }
  };
  await link(...Object.keys(manifest.dependencies));
  return {
    project,
    folder,
    manifest,
    tarball: new Uint8Array(await readFile(join(project, stdout.trim()))),
    link,
    remove: () => rm(project, { recursive: true, force: true }),
  };
}
