import { relative, resolve, sep } from 'node:path';
import type { Metafile } from 'esbuild';
import type { Built, Files } from './build.ts';

/** local/reload/recipe.ts reads it. */
const FILE = 'millrace-build.json';

/**
 * How the bundle was built, as a file of it: by this the local runtime builds it again when one of its sources changes,
 * without a synthesis. `sources` are those of the project, not of its packages.
 */
export function recipeFiles(name: string, entry: string, { options, metafile }: Built): Files {
  const cwd = process.cwd();
  const recipe = {
    options: { ...options, entryPoints: { [`${name}/index`]: entry }, absWorkingDir: cwd },
    sources: reachedFrom(relative(cwd, entry).replaceAll(sep, '/'), metafile)
      .filter((path) => !path.includes('node_modules/'))
      .map((path) => resolve(cwd, path)),
  };
  // Of what lies in a package as a whole nothing changes.
  if (recipe.sources.length === 0) return new Map();
  return new Map([[FILE, new TextEncoder().encode(`${JSON.stringify(recipe, null, 2)}\n`)]]);
}

/** What a module imports, and what that imports, and so on; those that leave no code in the bundle too. */
function reachedFrom(entry: string, { inputs }: Metafile): string[] {
  const reached = new Set([entry]);
  for (const path of reached) {
    for (const { path: imported } of inputs[path]?.imports ?? []) if (imported in inputs) reached.add(imported);
  }
  return [...reached];
}
