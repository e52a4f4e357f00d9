import { extname, join } from 'node:path';
import { build, type Files } from './build.ts';

/**
 * Parts of the AWS SDK, as handlers import them: `#sdk/lambda`. The name is ours, so that what processors import of the SDK
 * is theirs, of the version that their project has.
 */
export type SdkPart = 'secrets-manager' | 'rds-signer' | 'lambda';

/** What a bundle's own code leaves out: handlers import a part only when they use it. */
export const SDK = '#sdk/*';

const built = new Map<string, Files>();

/**
 * Those parts as files of a bundle. Each set is built once for all bundles, since one takes as long as half of them
 * together. It is not the runtime's own SDK: that changes under us, and is read from hundreds of files.
 */
export function sdkFiles(parts: readonly SdkPart[]): Files {
  const sorted = [...new Set(parts)].sort();
  const key = sorted.join(' ');
  const files = built.get(key) ?? filesOf(sorted);
  built.set(key, files);
  return files;
}

function filesOf(parts: readonly SdkPart[]): Files {
  if (parts.length === 0) return new Map();
  const names = parts.map((part) => [`#sdk/${part}`, `./sdk/${part}.mjs`]);
  return new Map([
    ...build({
      entryPoints: parts.map((part) => ({ in: sourceOf(part), out: `sdk/${part}` })),
      chunkNames: 'sdk/[name]-[hash]',
      // What the parts share is loaded once, and ways to get credentials that a Lambda does not use are not read at all.
      splitting: true,
    }),
    ['package.json', new TextEncoder().encode(JSON.stringify({ imports: Object.fromEntries(names) }))],
  ]);
}

/** It ends in `.ts` in the repository, in `.js` in the package, as this module. */
function sourceOf(part: SdkPart): string {
  return join(import.meta.dirname, '..', '..', 'functions', 'sdk', `${part}${extname(import.meta.filename)}`);
}
