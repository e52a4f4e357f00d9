import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { BuildOptions, Metafile } from 'esbuild';
import { esbuild } from './esbuild.ts';

/** Contents of files by their paths, with slashes. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** How everything that runs in a Lambda is built. */
const SETTINGS = {
  bundle: true,
  write: false,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  outExtension: { '.js': '.mjs' },
  mainFields: ['module', 'main'],
  minify: true,
  // CommonJS packages (pg) call require, which an ES module does not have. A name longer than any that minifying makes.
  banner: {
    js: "import{createRequire as createRequireOfBundle}from'node:module';const require=createRequireOfBundle(import.meta.url);",
  },
  logLevel: 'error',
} as const satisfies BuildOptions;

/** What esbuild was asked for, and what it read and made. */
export interface Built {
  readonly options: BuildOptions;
  readonly metafile: Metafile;
  readonly files: Files;
}

/** Builds with esbuild, in this process and without Docker. @throws Error that names the import esbuild cannot resolve */
export function build(options: BuildOptions): Files {
  return buildAt(undefined, options).files;
}

/** Nothing is written there: only what remains of the paths below it counts. */
const NOWHERE = join(import.meta.dirname, 'out');

/** As `build`, of bundles in folders of `outdir`: from there their source maps lead to the sources. */
export function buildAt(outdir = NOWHERE, own: BuildOptions): Built {
  const options = { ...own, ...SETTINGS, outdir, metafile: true as const };
  const { outputFiles, metafile } = esbuild().buildSync(options);
  const files = outputFiles.map(
    ({ path, contents }) => [relative(outdir, path).replaceAll(sep, '/'), contents] as const,
  );
  return { options, metafile, files: new Map(files) };
}

export function writeFiles(directory: string, files: Files): void {
  for (const [path, contents] of files) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
}
