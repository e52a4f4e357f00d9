import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { manifestOf, packagesIn } from './installed-package.ts';

/** Packages with a recipe for a compiler and without what it would make are refused. @throws Error that names one */
export function refuseUncompiled(folder: string): void {
  for (const owner of packagesIn(folder)) {
    const { name, gypfile } = manifestOf(owner);
    const built = readdirSync(owner, { recursive: true, encoding: 'utf8' }).some((file) => file.endsWith('.node'));
    if (built || gypfile === false || !existsSync(join(owner, 'binding.gyp'))) continue;
    throw new Error(
      `"${name}" in bundling.nodeModules brings no prebuilt binary: it is compiled when it is installed, for the machine it is ` +
        `installed on. Take a package that brings one (as sharp and those of @node-rs do), or compile it on Amazon Linux, ` +
        `put it into a layer or into bundling.files, and name it in bundling.esbuild.external.`,
    );
  }
}

/** What somebody should know of packages that would like to run a script when they are installed. */
export function scriptsNotRun(folder: string): string[] {
  return packagesIn(folder).flatMap((owner) => {
    const { name, scripts = {} } = manifestOf(owner);
    const wanted = ['preinstall', 'install', 'postinstall'].filter((script) => scripts[script] !== undefined);
    if (wanted.length === 0) return [];
    return [
      `"${name}", which bundling.nodeModules installs, has a script for its installation (${wanted.join(', ')}), and scripts are not ` +
        `run: see that it works without.`,
    ];
  });
}
