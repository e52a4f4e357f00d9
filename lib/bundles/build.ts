import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';

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

/** Builds with esbuild, in this process and without Docker. @throws Error that names the import esbuild cannot resolve */
export function build(options: BuildOptions): Files {
  // Nothing is written there: only what remains of the paths below it counts.
  const outdir = join(import.meta.dirname, 'out');
  const { outputFiles } = buildSync({ ...options, ...SETTINGS, outdir });
  return new Map(outputFiles.map(({ path, contents }) => [relative(outdir, path).replaceAll(sep, '/'), contents]));
}

export function writeFiles(directory: string, files: Files): void {
  for (const [path, contents] of files) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
}
