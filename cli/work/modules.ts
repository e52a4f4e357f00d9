import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { kindsByName } from '../../functions/queue/kinds.ts';
import { type Jobs, jobsOf } from '../../functions/work/jobs-of.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { bundled } from './bundled.ts';

export interface ModulePaths {
  readonly contracts: string;
  readonly processors: string;
}

/** What this worker runs. @throws CliError if a module cannot be loaded or is not what it should be */
export async function loadModules(paths: ModulePaths): Promise<Jobs> {
  const files = { contracts: found(paths, 'contracts'), processors: found(paths, 'processors') };
  const modules = await imported(files).catch((error) => {
    if (error instanceof CliError) throw error;
    throw new CliError(`the jobs cannot be loaded: ${whole(error)}`, EXIT.usage, { cause: error });
  });
  const contracts = {
    contracts: exported(modules.contracts, 'contracts', files.contracts),
    schedules: memberOf(modules.contracts, 'schedules'),
  };
  const processors = {
    ...modules.processors,
    processors: exported(modules.processors, 'processors', files.processors),
  };
  try {
    const jobs = jobsOf(contracts as never, processors as never);
    kindsByName(jobs.contracts);
    return jobs;
  } catch (error) {
    throw new CliError((error as Error).message, EXIT.usage, { cause: error });
  }
}

function found(paths: ModulePaths, of: keyof ModulePaths): string {
  const file = resolve(paths[of]);
  if (existsSync(file)) return file;
  throw new CliError(`there is no ${file}: --${of} <file> names the module that exports \`${of}\``, EXIT.usage);
}

interface Imported {
  readonly contracts: Record<string, unknown>;
  readonly processors: Record<string, unknown>;
}

async function imported(files: ModulePaths): Promise<Imported> {
  if (Object.values(files).some((file) => TYPESCRIPT.has(extname(file)))) return (await bundled(files)) as Imported;
  return { contracts: await plain(files.contracts), processors: await plain(files.processors) };
}

/** Node reads them from version 22.18 on, and older ones are served too. */
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx']);

async function plain(file: string): Promise<Record<string, unknown>> {
  return import(pathToFileURL(file).href);
}

function exported(module: Record<string, unknown>, name: string, file: string): object {
  const value = memberOf(module, name);
  if (typeof value === 'object' && value !== null) return value;
  throw new CliError(`${file} must export \`${name}\`, an object with a member for each kind`, EXIT.usage);
}

/** A CommonJS module may have it in its default export only. */
function memberOf(module: Record<string, unknown>, name: string): unknown {
  return module[name] ?? (module.default as Record<string, unknown> | undefined)?.[name];
}

/** Of what a module threw, also where: it is the user's own. What esbuild says has the place in it. */
function whole(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'errors' in error ? error.message : (error.stack ?? error.message);
}
