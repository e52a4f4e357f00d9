import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App, Stack } from 'aws-cdk-lib';
import { build, writeFiles } from '../../lib/bundles/build.ts';
import { Bundles, type BundlesProps, type Extras } from '../../lib/bundles/bundles.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of the handlers that answer requests. */
export const API_HANDLERS = [
  'authorize',
  'enqueue',
  'jobs-read',
  'manage',
  'ready',
  'metrics',
  'openapi',
  'health',
  'fallback',
] as const;

/** The file that Lambda loads of a handler's bundle, made in that folder around the sample jobs. */
export function handlerBundle(
  name: string,
  folder: string,
  props: Partial<BundlesProps> = {},
  extras: Extras = {},
): string {
  const stack = new Stack(new App({ outdir: join(folder, `${name}.out`) }));
  const names = new Set<string>([...API_HANDLERS, 'work']);
  const bundles = new Bundles({
    entries: Object.fromEntries([...names].map((own) => [own, join(root, 'functions', own, 'handler.ts')])),
    contracts: join(root, 'functions/jobs/contracts.ts'),
    processors: join(root, 'functions/jobs/processors.ts'),
    projectRoot: root,
    platform: 'host',
    ...props,
  });
  bundles.code(name, extras).bind(stack);
  const [file = ''] = globSync(join(folder, `${name}.out`, 'asset.*', 'index.mjs'));
  return file;
}

/** The same of what every function with a database stands on, and nothing else. */
export function bareBundle(folder: string): string {
  const contents = `
    import middy from '@middy/core';
    import pg from 'pg';
    import * as z from 'zod';
    export const schema = z.object({ name: z.string() });
    export const handler = middy(async (event) => new pg.Client(schema.parse(event)));`;
  const files = build({
    stdin: { contents, resolveDir: dirname(fileURLToPath(import.meta.url)), sourcefile: 'bare.ts' },
    entryNames: 'index',
    external: ['pg-native'],
    sourcemap: true,
    sourcesContent: false,
  });
  writeFiles(join(folder, 'bare'), files);
  return join(folder, 'bare', 'index.mjs');
}
