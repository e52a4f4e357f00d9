import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { loadModules } from '../../cli/work/modules.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
let folder: string;

beforeEach(() => {
  mkdirSync(join(ROOT, '.millrace'), { recursive: true });
  // Within the repository, so that its packages are found from there; a project of its own.
  folder = mkdtempSync(join(ROOT, '.millrace', 'modules-'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

/** Loads these two texts as modules. */
function load(contracts: string, processors: string, extension = 'ts') {
  const paths = { contracts: `contracts.${extension}`, processors: `processors.${extension}` };
  writeFileSync(join(folder, paths.contracts), contracts);
  writeFileSync(join(folder, paths.processors), processors);
  return loadModules({ contracts: join(folder, paths.contracts), processors: join(folder, paths.processors) });
}

const CONTRACTS = `import * as z from 'zod';
export const contracts: Record<string, unknown> = {
  own: { payload: z.unknown(), timeoutSeconds: 5, queue: 'default', aliases: [], maxAttempts: 1, backoff: {} },
};`;
const PROCESSORS = `import { contracts } from './contracts.ts';
export const processors = { own: (): boolean => contracts.own !== undefined };`;

test('TypeScript is bundled, contracts are there once, and nothing is left behind', async () => {
  const { contracts, processors } = await load(CONTRACTS, `${PROCESSORS}\nexport const same = contracts;`);
  expect(Object.keys(contracts)).toEqual(['own', 'millrace.canary']);
  expect(processors.own?.(undefined, {} as never)).toBe(true);
  expect(readdirSync(join(folder, '.millrace'))).toEqual([]);
});

test('CommonJS is imported as it is', async () => {
  const contracts = `const z = require('zod'); exports.contracts = { own: { payload: z.unknown(), aliases: [] } };`;
  const jobs = await load(contracts, 'exports.processors = { own() {} };', 'cjs');
  expect(Object.keys(jobs.processors)).toEqual(['own', 'millrace.canary']);
  expect(readdirSync(folder)).not.toContain('.millrace');
});

describe('what is wrong with a module is said, with what to do:', () => {
  test.each([
    [
      'export const other = {};',
      'export const processors = {};',
      /contracts\.ts must export `contracts`, an object with a member for each kind/,
    ],
    [CONTRACTS, 'export const processors = 7;', /processors\.ts must export `processors`, an object/],
    [CONTRACTS, `${PROCESSORS}\nexport const middleware = {};`, /^middleware must be an array of functions/],
    [CONTRACTS.replace('aliases: []', `aliases: ['own']`), PROCESSORS, /"own" is an alias of "own"/],
    [
      CONTRACTS,
      'export const processors = {',
      /the jobs cannot be loaded: .*processors\.ts:1:\d+: ERROR: Expected identifier/s,
    ],
    [CONTRACTS, `import './nowhere.ts';`, /the jobs cannot be loaded: .*Could not resolve "\.\/nowhere\.ts"/s],
    [CONTRACTS, `throw new Error('no key');`, /the jobs cannot be loaded: Error: no key\n.* at /s],
  ])('%#', async (contracts, processors, message) => {
    await expect(load(contracts, processors)).rejects.toMatchObject({
      name: 'CliError',
      exitCode: 2,
      message: expect.stringMatching(message),
    });
  });

  test('a file that is not there', async () => {
    const paths = { contracts: join(folder, 'none.ts'), processors: join(folder, 'none.ts') };
    await expect(loadModules(paths)).rejects.toThrow(/^there is no .*none\.ts: --contracts <file> names the module/);
  });
});
