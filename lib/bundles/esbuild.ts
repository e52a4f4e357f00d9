import { createRequire } from 'node:module';
import type * as Esbuild from 'esbuild';

/**
 * esbuild, as the project has it: an optional peer, since a producer needs none. Required when it is first used, for else an
 * import of `millrace` without it would fail in Node's words.
 * @throws Error that says how to get it
 */
export function esbuild(): typeof Esbuild {
  try {
    return createRequire(import.meta.url)('esbuild');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause;
    const what = 'Bundling needs esbuild, which this project does not have: npm install --save-dev esbuild';
    throw new Error(what, { cause });
  }
}
