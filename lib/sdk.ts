import { build, type Files } from './build.ts';

/** The part of the AWS SDK that reads the database secret. Handlers import it only when they read one. */
export const SDK = '@aws-sdk/client-secrets-manager';

let built: Files | undefined;

/**
 * The SDK as a package in a bundle's node_modules. Built once for all bundles, since it takes as long as half of them
 * together. It is not the runtime's own SDK: that changes under us, and is read from hundreds of files.
 */
export function sdkFiles(): Files {
  built ??= new Map([
    ...build({
      stdin: { contents: `export * from '${SDK}'`, resolveDir: import.meta.dirname },
      entryNames: 'index',
      // Ways to get credentials that a Lambda does not use stay in files that it does not read.
      splitting: true,
    }),
    ['package.json', new TextEncoder().encode(JSON.stringify({ name: SDK, type: 'module', exports: './index.mjs' }))],
  ]);
  return built;
}
