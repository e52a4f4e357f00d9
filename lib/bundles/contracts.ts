import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compileFunction, constants } from 'node:vm';
import type { BuildFailure } from 'esbuild';
import type * as Checks from '../../functions/queue/check-schedules.ts';
import type { Contract, Contracts } from '../../functions/queue/contract.ts';
import type * as Kinds from '../../functions/queue/kinds.ts';
import { esbuild } from './esbuild.ts';
import { lineOf } from './line-of.ts';

/**
 * The contracts that a module exports, read at synth. esbuild makes one CommonJS text of the module and what it imports, and
 * that is evaluated here: so it works at once, whatever runs the CDK app (ts-node, tsx, Node itself, compiled JavaScript), and
 * reads the module just as the bundles do.
 * @param path - absolute
 * @throws Error that says what the module lacks
 */
export function readContracts(path: string): Contracts {
  if (!existsSync(path))
    throw new Error(`There is no contracts module ${path}: see the props contracts and projectRoot.`);
  const { contracts, schedules } = evaluate(path, bundle(path));
  if (contracts === undefined) {
    throw new Error(
      `${path} does not export contracts: write export const contracts = { 'receipt.email': defineJob({ … }) }.`,
    );
  }
  if (!isRecord(contracts))
    throw new Error(`The contracts that ${path} exports must be an object with a contract for each kind.`);
  for (const [kind, contract] of Object.entries(contracts)) {
    if (!isContract(contract)) {
      throw new Error(
        `The contract of "${kind}" in ${path} was not made by defineJob({ payload, … }) of millrace/queue.`,
      );
    }
  }
  checkNames(path, contracts as Contracts);
  if (schedules !== undefined) checkSchedules(path, contracts as Contracts, schedules);
  return contracts as Contracts;
}

/** Millrace's own job, which `npx millrace doctor` puts in (functions/queue/canary.ts). */
const CANARY = 'millrace.canary';

/** What contracts say of each other: aliases, onDead. As the engine checks them. */
function checkNames(path: string, contracts: Contracts): void {
  const taker = kindsByName(path, contracts).get(CANARY);
  if (taker === undefined) return;
  throw new Error(
    `The contract of "${taker.kind}" in ${path} takes the name ${CANARY}, which is that of Millrace's own job: choose another.`,
  );
}

/** As the engine checks them. Only for who has some: it reads patterns and time zones by a library. */
function checkSchedules(path: string, contracts: Contracts, schedules: unknown): void {
  const checks: typeof Checks = readEngine<typeof Checks>('check-schedules');
  try {
    checks.checkSchedules(contracts, schedules);
  } catch (error) {
    throw new Error(`The schedules of ${path} cannot be kept: ${messageOf(error)}.`, { cause: error });
  }
}

function kindsByName(path: string, contracts: Contracts) {
  engine ??= readEngine<typeof Kinds>('kinds');
  try {
    return engine.kindsByName(contracts);
  } catch (error) {
    throw new Error(`The contracts of ${path} do not go together: ${messageOf(error)}.`, { cause: error });
  }
}

let engine: typeof Kinds | undefined;

/** Its code is read as that of contracts is, but once. */
function readEngine<Module>(name: string): Module {
  const path = join(import.meta.dirname, '..', '..', 'functions', 'queue', `${name}${extname(import.meta.filename)}`);
  return evaluate(path, bundle(path)) as Module;
}

function bundle(path: string): string {
  try {
    const { outputFiles } = esbuild().buildSync({
      entryPoints: [path],
      bundle: true,
      write: false,
      platform: 'node',
      format: 'cjs',
      target: `node${process.versions.node}`,
      mainFields: ['module', 'main'],
      // CommonJS has none; it is the module's own for all that it imports, too.
      define: { 'import.meta.url': JSON.stringify(pathToFileURL(path).href) },
      sourcemap: 'inline',
      sourcesContent: false,
      logLevel: 'silent',
    });
    return outputFiles[0]?.text ?? '';
  } catch (error) {
    const { errors = [] } = error as Partial<BuildFailure>;
    if (errors.length === 0) throw error;
    if (errors.some(({ text }) => text.startsWith('Top-level await'))) {
      throw new Error(
        `${path}, or what it imports, has an await at its top level. Contracts are read at once: do without.`,
        {
          cause: error,
        },
      );
    }
    const places = errors.map(({ text, location }) => (location ? `${location.file}:${location.line}: ${text}` : text));
    throw new Error(`${path} cannot be read:\n${places.join('\n')}`, { cause: error });
  }
}

function evaluate(path: string, code: string): Record<string, unknown> {
  const module = { exports: {} as Record<string, unknown> };
  try {
    const run = compileFunction(code, ['module', 'exports', 'require', '__filename', '__dirname'], {
      filename: path,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    run.call(module.exports, module, module.exports, createRequire(path), path, dirname(path));
  } catch (error) {
    const line = lineOf(error, path, code);
    const where = line === undefined ? '' : ` (line ${line.number}: ${line.text})`;
    throw new Error(`${path} threw while it was read: ${messageOf(error)}${where}`, { cause: error });
  }
  return module.exports;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isContract(value: unknown): value is Contract {
  if (!isRecord(value) || !isRecord(value.payload) || !isRecord(value.backoff)) return false;
  const { payload, maxAttempts, timeoutSeconds, queue, aliases } = value;
  return (
    typeof payload.safeParse === 'function' &&
    [maxAttempts, timeoutSeconds].every((number) => typeof number === 'number' && number > 0) &&
    typeof queue === 'string' &&
    Array.isArray(aliases)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
