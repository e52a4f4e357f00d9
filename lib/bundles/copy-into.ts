import { cpSync, existsSync } from 'node:fs';
import { isAbsolute, join, normalize, resolve, sep } from 'node:path';

/** Names at the top of a bundle that are its own. */
const OWN = new Set(['index.mjs', 'index.mjs.map', 'package.json', 'sdk']);

/**
 * Copies files and folders into a bundle, links as what they lead to.
 * @param files - their paths in the bundle, and where they are now, relative to `root`
 * @throws Error that names a file which is not there, or a path which is not in the bundle or is its own
 */
export function copyInto(bundle: string, root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, from] of Object.entries(files)) {
    const inside = normalize(path);
    if (isAbsolute(inside) || inside === '.' || inside.split(sep)[0] === '..') {
      throw new Error(
        `"${path}" in bundling.files must be a path inside the bundle, as in { 'fonts': 'assets/fonts' }.`,
      );
    }
    if (OWN.has(inside.split(sep)[0] ?? '')) {
      throw new Error(`"${path}" in bundling.files would take the place of the bundle's own: give it another name.`);
    }
    const source = resolve(root, from);
    if (!existsSync(source)) throw new Error(`bundling.files names ${source}, and nothing is there.`);
    cpSync(source, join(bundle, inside), { recursive: true, dereference: true });
  }
}
