import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { CliError, EXIT } from '../cli-error.ts';

/**
 * What a project says in its package.json to get the millrace that runs here: npx and pnpm dlx install what they were told to
 * run into a folder of their own, whose package.json has the spec. A path in it is made relative to the project.
 * @throws CliError where that cannot be known: in a checkout
 */
export function ownSpec(project: string, own = packageFolder()): string {
  const { version } = readManifest(own);
  const { installation, spec } = asked(own);
  if (spec === undefined && !own.split(sep).includes('node_modules')) {
    throw new CliError(
      `This millrace runs from its sources in ${own}: say which one to install with --package file:<path of a tarball>.`,
      EXIT.usage,
    );
  }
  if (spec === undefined) return `^${version}`;
  if (!spec.startsWith('file:')) return spec;
  const path = relative(project, resolve(installation, spec.slice('file:'.length)));
  const local = isAbsolute(path) || path.startsWith('.') ? path : `./${path}`;
  return `file:${local.replaceAll(sep, '/')}`;
}

/** The nearest folder above that asks for millrace; with pnpm's links that is not the one that holds its node_modules. */
function asked(own: string): { installation: string; spec?: string } {
  for (let at = dirname(own); at !== dirname(at); at = dirname(at)) {
    if (!existsSync(join(at, 'package.json'))) continue;
    const { dependencies, devDependencies } = readManifest(at);
    const spec = dependencies?.millrace ?? devDependencies?.millrace;
    if (spec !== undefined) return { installation: at, spec };
  }
  return { installation: own };
}

function packageFolder(): string {
  return join(import.meta.dirname, '..', '..');
}

function readManifest(folder: string): {
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
} {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
