import { extname, join } from 'node:path';

/** Path of a module of this folder that is started, not imported: `.ts` in the repository, `.js` in the package, as this one. */
export function besideThis(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}
