import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CliError, EXIT } from '../cli-error.ts';
import type { ModulePaths } from './modules.ts';

/**
 * The two modules as one of JavaScript, so that what both import is there once. Packages stay outside: those with native code
 * work, and `millrace/queue` is the one that runs here, whose errors the engine knows.
 */
export async function bundled({ contracts, processors }: ModulePaths): Promise<unknown> {
  // Within the project, since packages are looked for from there.
  const folder = join(projectOf(processors), '.millrace');
  await mkdir(folder, { recursive: true }).catch(cannotWrite);
  const own = await mkdtemp(join(folder, 'work-')).catch(cannotWrite);
  try {
    const outfile = join(own, 'jobs.mjs');
    await build(contracts, processors, outfile);
    process.setSourceMapsEnabled(true);
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function build(contracts: string, processors: string, outfile: string): Promise<void> {
  const { esbuild } = await import('../../lib/bundles/esbuild.ts');
  const entry = [contracts, processors].map((file) => JSON.stringify(file));
  await esbuild().build({
    stdin: {
      contents: `import * as contracts from ${entry[0]};\nimport * as processors from ${entry[1]};\nexport { contracts, processors };`,
      resolveDir: dirname(processors),
    },
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // What a CommonJS module of the user's own requires.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    keepNames: true,
    sourcemap: 'inline',
    logLevel: 'silent',
  });
}

function projectOf(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) return dirname(file);
  }
}

function cannotWrite(cause: NodeJS.ErrnoException): never {
  throw new CliError(
    `TypeScript is bundled into the folder .millrace of the project, which cannot be written: ${cause.message}. Build the modules beforehand (docs/work.md) and name the JavaScript.`,
    EXIT.usage,
    { cause },
  );
}
