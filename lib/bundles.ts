import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { build, type Files, writeFiles } from './build.ts';
import { certificateFiles } from './certificates.ts';
import { SDK, sdkFiles } from './sdk.ts';

/** What lies in a bundle beside its code. */
export interface Extras {
  /** The part of the AWS SDK that reads a secret. */
  readonly sdk: boolean;
  /** The certificates of the database's server: those of RDS, or those in the PEM file at this path. @default - none */
  readonly certificates?: { readonly own?: string | undefined } | undefined;
  /** Folders to copy: their names in the bundle, and where they are now. @default - none */
  readonly folders?: Readonly<Record<string, string>> | undefined;
}

/**
 * The bundles of a queue's handlers: each is `index.mjs`, the handler's module with everything it imports. All are built
 * together when the first is asked for, in a third of the time that one after the other takes.
 */
export class Bundles {
  readonly #entries: Readonly<Record<string, string>>;
  readonly #aliases: Readonly<Record<string, string>>;
  #built: Files | undefined;

  /**
   * @param entries - paths of the handlers' modules, by the names of their bundles
   * @param aliases - paths of what they import as `#contracts` and `#processors`, by these names
   */
  constructor(entries: Readonly<Record<string, string>>, aliases: Readonly<Record<string, string>>) {
    this.#entries = entries;
    this.#aliases = aliases;
  }

  /** The bundle as code of a Lambda function. */
  code(name: string, extras: Extras): lambda.Code {
    const entry = this.#entries[name];
    if (entry === undefined) throw new Error(`there is no handler of the name "${name}"`);
    return lambda.Code.fromAsset(dirname(entry), {
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        // Never started: tryBundle does all the work.
        image: DockerImage.fromRegistry('none'),
        // Part of the key of CDK's cache: two queues in one app make different bundles of the same handler.
        environment: { BUNDLE: JSON.stringify([name, this.#aliases, extras]) },
        local: {
          tryBundle: (directory) => {
            this.#write(directory, name, extras);
            return true;
          },
        },
      },
    });
  }

  #write(directory: string, name: string, { sdk, certificates, folders = {} }: Extras): void {
    this.#built ??= build({
      entryPoints: Object.fromEntries(Object.entries(this.#entries).map(([own, path]) => [`${own}/index`, path])),
      alias: { ...this.#aliases },
      external: ['pg-native', SDK],
      sourcemap: true,
      sourcesContent: false,
    });
    writeFiles(directory, below(`${name}/`, this.#built));
    if (sdk) writeFiles(join(directory, 'node_modules', SDK), sdkFiles());
    if (certificates) writeFiles(directory, certificateFiles(certificates.own));
    for (const [folder, from] of Object.entries(folders)) cpSync(from, join(directory, folder), { recursive: true });
  }
}

function below(folder: string, files: Files): Files {
  return new Map(
    [...files].flatMap(([path, contents]) => (path.startsWith(folder) ? [[path.slice(folder.length), contents]] : [])),
  );
}
