import { existsSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { StartError } from './start-error.ts';
import { synthesize } from './synthesize.ts';

/** Where the queue is defined: in a CDK app, in what one has synthesized, or nowhere yet but for its two modules. */
export interface Source {
  /** Command of a CDK app, or a folder with a cloud assembly. Default: the command in `cdk.json`. */
  readonly app?: string | undefined;
  /** Paths of the modules of a queue that is as by default; the CDK app is not asked then. */
  readonly modules?: { readonly contracts: string; readonly processors: string } | undefined;
}

/**
 * Resolves the folder of the cloud assembly: a given one, else `outDirectory`, synthesized now. Modules without an app get the
 * stack that we deploy by default, so that they run here as they would there.
 * @throws StartError
 */
export async function assemblyOf(
  projectDirectory: string,
  outDirectory: string,
  { app, modules }: Source,
  signal?: AbortSignal,
): Promise<string> {
  const given = app !== undefined && resolve(projectDirectory, app);
  if (given && existsSync(join(given, 'manifest.json'))) return given;
  if (modules === undefined) {
    await synthesize(projectDirectory, outDirectory, { command: app, signal });
    return outDirectory;
  }
  const context = {
    'millrace:contracts': moduleIn(projectDirectory, '--contracts', modules.contracts),
    'millrace:processors': moduleIn(projectDirectory, '--processors', modules.processors),
    'millrace:projectRoot': projectDirectory,
  };
  await synthesize(projectDirectory, outDirectory, {
    command: defaultApp(),
    title: 'The default stack of these modules',
    context,
    signal,
  });
  return outDirectory;
}

/** `.ts` in the repository, `.js` in the package, as this module. */
function defaultApp(): string {
  const file = join(import.meta.dirname, '..', 'lib', `default-app${extname(import.meta.filename)}`);
  return `"${process.execPath}" "${file}"`;
}

function moduleIn(directory: string, option: string, path: string): string {
  const file = resolve(directory, path);
  if (existsSync(file)) return file;
  throw new StartError('bad_setting', `${option} is ${path}, and there is no ${file}: give the path of the module.`);
}
