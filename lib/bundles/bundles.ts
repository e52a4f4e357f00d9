import { dirname } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import type { BuildOptions } from 'esbuild';
import { type Built, buildAt, type Files, writeFiles } from './build.ts';
import type { BundlingProps } from './bundling-props.ts';
import { certificateFiles } from './certificates.ts';
import { copyInto } from './copy-into.ts';
import { installed, type Platform } from './native-modules.ts';
import { recipeFiles } from './recipe.ts';
import { SDK, type SdkPart, sdkFiles } from './sdk.ts';

export type { BundlingProps, EsbuildProps } from './bundling-props.ts';

/** What lies in a bundle beside its code. */
export interface Extras {
  /** Parts of the AWS SDK that the function uses. @default - none */
  readonly sdk?: readonly SdkPart[] | undefined;
  /** The certificates of the database's server: those of RDS, or those in the PEM file at this path. @default - none */
  readonly certificates?: { readonly own?: string | undefined } | undefined;
  /** Folders to copy: their names in the bundle, and where they are now. @default - none */
  readonly folders?: Readonly<Record<string, string>> | undefined;
}

export interface BundlesProps {
  /** Paths of the handlers' modules, by the names of their bundles. */
  readonly entries: Readonly<Record<string, string>>;
  /** Path of the module that handlers import as `#contracts`. */
  readonly contracts: string;
  /** Path of the module that the worker alone imports, as `#processors`. */
  readonly processors: string;
  /** Folder that the paths in `bundling` are relative to. */
  readonly projectRoot: string;
  /** What the processors need. @default - nothing */
  readonly bundling?: BundlingProps | undefined;
  /** What the processors' native modules must run on. */
  readonly platform: Platform;
  /** Told of what may go wrong later. @default - nobody is */
  readonly warn?: ((message: string) => void) | undefined;
}

/** The bundle that has the processors. */
const WORKER = 'work';

/**
 * The bundles of a queue's handlers: each is `index.mjs`, the handler's module with everything it imports. All but the
 * worker's are built together when the first is asked for, in a third of the time that one after the other takes.
 */
export class Bundles {
  readonly #props: BundlesProps;
  #built: Built | undefined;
  #worker: Built | undefined;

  constructor(props: BundlesProps) {
    this.#props = props;
  }

  /** The bundle as code of a Lambda function. */
  code(name: string, extras: Extras): lambda.Code {
    const { entries, contracts, processors, projectRoot, bundling, platform } = this.#props;
    const entry = entries[name];
    if (entry === undefined) throw new Error(`there is no handler of the name "${name}"`);
    const own = name === WORKER ? [processors, projectRoot, bundling, platform] : [];
    return lambda.Code.fromAsset(dirname(entry), {
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        // Never started: tryBundle does all the work.
        image: DockerImage.fromRegistry('none'),
        // Part of the key of CDK's cache: two queues in one app make different bundles of the same handler.
        environment: { BUNDLE: JSON.stringify([name, contracts, extras, own]) },
        local: {
          tryBundle: (directory) => {
            this.#write(directory, name, extras);
            return true;
          },
        },
      },
    });
  }

  #write(directory: string, name: string, { sdk = [], certificates, folders = {} }: Extras): void {
    const { entries, processors, projectRoot, bundling = {}, platform, warn } = this.#props;
    // What runs on this machine says where an error was thrown by the path of the source. What is deployed is the same
    // wherever it was built.
    const outdir = platform === 'host' ? dirname(directory) : undefined;
    if (name === WORKER) {
      const { nodeModules = [], files = {} } = bundling;
      copyInto(directory, projectRoot, files);
      if (nodeModules.length > 0) {
        const from = installed(nodeModules, { importer: processors, platform, warn });
        copyInto(directory, from, { node_modules: 'node_modules' });
      }
    }
    const built = this.#build(name, outdir);
    writeFiles(directory, below(`${name}/`, built.files));
    if (platform === 'host') writeFiles(directory, recipeFiles(name, entries[name] ?? '', built));
    writeFiles(directory, sdkFiles(sdk));
    if (certificates) writeFiles(directory, certificateFiles(certificates.own));
    copyInto(directory, '', folders);
  }

  #build(name: string, outdir: string | undefined): Built {
    if (name === WORKER) {
      this.#worker ??= this.#buildWorker(outdir);
      return this.#worker;
    }
    this.#built ??= this.#buildOthers(outdir);
    return this.#built;
  }

  #buildOthers(outdir: string | undefined): Built {
    const { contracts, entries } = this.#props;
    const others = Object.entries(entries).filter(([name]) => name !== WORKER);
    return buildAt(outdir, { ...codeOf(others), alias: { '#contracts': contracts } });
  }

  #buildWorker(outdir: string | undefined): Built {
    const { contracts, processors, entries, bundling = {} } = this.#props;
    const { external = [], loader, define } = bundling.esbuild ?? {};
    const code = codeOf([[WORKER, entries[WORKER] ?? '']]);
    return buildAt(outdir, {
      ...code,
      alias: { '#contracts': contracts, '#processors': processors },
      external: [...code.external, ...(bundling.nodeModules ?? []), ...external],
      // What a processor throws is kept with the job by the name of its class.
      keepNames: true,
      ...(loader && { loader: { ...loader } }),
      ...(define && { define: { ...define } }),
    });
  }
}

function codeOf(entries: readonly (readonly [name: string, path: string])[]) {
  return {
    entryPoints: Object.fromEntries(entries.map(([name, path]) => [`${name}/index`, path])),
    external: ['pg-native', SDK],
    sourcemap: true,
    sourcesContent: false,
  } satisfies BuildOptions;
}

function below(folder: string, files: Files): Files {
  return new Map(
    [...files].flatMap(([path, contents]) => (path.startsWith(folder) ? [[path.slice(folder.length), contents]] : [])),
  );
}
