import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync, type Metafile } from 'esbuild';
import { licenceOf, type Package, textOf } from './licences.ts';

export interface Prebuilt {
  /** The packages whose code is in the files. */
  readonly packages: readonly Package[];
  /** Who they are by, and under what terms: THIRD-PARTY-NOTICES. */
  readonly notices: string;
}

/**
 * What is in Lambda bundles alone comes built: the parts of the AWS SDK that we use (its packages unpack to 20 MB), and middy,
 * which wants a newer Node than the machines that it is never run on. So whoever installs Millrace installs none of them.
 */
export function prebuild(root: string, target: string): Prebuilt {
  const parts = globSync('functions/sdk/*.ts', { cwd: root }).map((path) => path.replace(/^.*\/|\.ts$/g, ''));
  const built = [
    // What the parts share is there once, and credentials of kinds that a Lambda does not have lie in files that it never reads.
    build(
      root,
      join(target, 'functions/sdk'),
      parts.map((part) => ({ in: join(root, 'functions/sdk', `${part}.ts`), out: part })),
    ),
    build(root, join(target, 'functions/lambda'), [{ in: '@middy/core', out: 'middy' }]),
  ];
  const packages = packagesOf(root, built);
  return { packages, notices: noticesOf(packages) };
}

function build(root: string, outdir: string, entryPoints: { in: string; out: string }[]): Metafile {
  return buildSync({
    entryPoints,
    outdir,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    chunkNames: 'shared-[hash]',
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    allowOverwrite: true,
    metafile: true,
    logLevel: 'error',
  }).metafile;
}

function packagesOf(root: string, built: readonly Metafile[]): Package[] {
  const inputs = built.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    ),
  );
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    return { name: manifest.name, version: manifest.version, licence: licenceOf(manifest), folder: join(root, folder) };
  });
}

function noticesOf(packages: readonly Package[]): string {
  const head = 'The files in functions/sdk, and functions/lambda/middy.js, hold code of these packages.\n';
  const byText = Map.groupBy(packages, textOf);
  return [
    head,
    ...[...byText].map(([text, group]) => {
      const names = group.map(({ name, version, licence }) => `${name} ${version} (${licence})`);
      return `${'-'.repeat(80)}\n${names.join('\n')}\n\n${text.trim()}\n`;
    }),
  ].join('\n');
}
