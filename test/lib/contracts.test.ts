import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { contracts as samples } from '../../functions/jobs/contracts.ts';
import { readContracts } from '../../lib/bundles/contracts.ts';
import { folderInProject } from '../support/typescript.ts';

/** Path of a module with that text, in a folder where `millrace/queue` and `zod` are found. */
async function moduleOf(text: string, name = 'contracts.ts', others: Record<string, string> = {}): Promise<string> {
  const folder = await folderInProject('contracts');
  for (const [file, contents] of Object.entries({ ...others, [name]: text }))
    await writeFile(join(folder, file), contents);
  return join(folder, name);
}

const IMPORTS = `import * as z from 'zod'; import { defineJob } from 'millrace/queue';`;

test('the sample contracts are read as they are', () => {
  const read = readContracts(fileURLToPath(import.meta.resolve('#contracts')));
  const settings = (contracts: typeof read) =>
    Object.entries(contracts).map(([kind, { payload: _, ...others }]) => [kind, others]);
  expect(settings(read)).toEqual(settings(samples));
  expect(read['hello.greet']?.payload.safeParse({ name: 'Ada' }).success).toBe(true);
});

test.each([
  ['contracts.mjs', `${IMPORTS} export const contracts = { a: defineJob({ payload: z.object({}), queue: 'q' }) };`],
  [
    'contracts.cjs',
    `const z = require('zod'); exports.contracts = { a: require('millrace/queue').defineJob({ payload: z.object({}), queue: 'q' }) };`,
  ],
  [
    'contracts.cts',
    `import z = require('zod'); import queue = require('millrace/queue');
     export const contracts = { a: queue.defineJob({ payload: z.object({}), queue: 'q' }) };`,
  ],
])('%s is read, whichever way it is written', async (name, text) => {
  expect(readContracts(await moduleOf(text, name)).a?.queue).toBe('q');
});

test('keys of codecs are not there yet, and nobody asks for them', async () => {
  const path = await moduleOf(
    `import * as z from 'zod'; import { aesGcm, defineJob } from 'millrace/queue';
     export const contracts = { a: defineJob({ payload: z.object({}), codec: aesGcm(() => { throw new Error('asked'); }) }) };`,
  );
  expect(readContracts(path).a?.codec).toBeDefined();
});

test('it may import modules and data of its own, and know where it is', async () => {
  const path = await moduleOf(
    `${IMPORTS}
     import { readFileSync } from 'node:fs';
     import limits from './limits.json' with { type: 'json' };
     import { queue } from './queue.js';
     const text = readFileSync(new URL('name.txt', import.meta.url), 'utf8');
     export const contracts = { [text]: defineJob({ payload: z.object({}), queue, ...limits }) };`,
    'contracts.ts',
    {
      'queue.ts': `export const queue: string = 'reports';`,
      'limits.json': '{"timeoutSeconds": 7}',
      'name.txt': 'a.b',
    },
  );
  expect(readContracts(path)).toMatchObject({ 'a.b': { queue: 'reports', timeoutSeconds: 7 } });
});

describe('a module that cannot be used is refused with a sentence', () => {
  test('it is not there', () => {
    expect(() => readContracts('/nowhere/contracts.ts')).toThrow(
      /^There is no contracts module \/nowhere\/contracts.ts/,
    );
  });

  test.each([
    ['exports nothing', 'export const jobs = {};', /contracts\.ts does not export contracts/],
    ['exports no object', 'export const contracts = 7;', /must be an object with a contract for each kind/],
    [
      'made a contract by hand',
      `${IMPORTS} export const contracts = { ok: defineJob({ payload: z.object({}) }), own: { payload: z.object({}) } };`,
      /^The contract of "own" in .*contracts\.ts was not made by defineJob/,
    ],
    ['throws', `throw new Error('no such thing');`, /contracts\.ts threw while it was read: no such thing/],
    [
      'has a setting out of bounds',
      `${IMPORTS} export const contracts = { a: defineJob({ payload: z.object({}), timeoutSeconds: 900 }) };`,
      /contracts\.ts threw while it was read: timeoutSeconds must lie from 0\.001 to 840, not 900/,
    ],
    [
      'does not say which kind it is, but the line does',
      `${IMPORTS}
export const contracts = {
  'invoice.send': defineJob({ payload: z.object({}) }),
  'invoice.remind': defineJob({ payload: z.object({}), timeoutSeconds: 860 }),
};`,
      /not 860 \(line 4: 'invoice\.remind': defineJob\(\{ payload: z\.object\(\{\}\), timeoutSeconds: 860 \}\),\)$/,
    ],
    [
      'gives one name to two kinds',
      `${IMPORTS} const payload = z.object({}); export const contracts = { a: defineJob({ payload }), b: defineJob({ payload, aliases: ['a'] }) };`,
      /^The contracts of .*contracts\.ts do not go together: "a" is an alias of "b" and names "a" too: a name means one kind\.$/,
    ],
    [
      'tells no kind of deaths',
      `${IMPORTS} export const contracts = { a: defineJob({ payload: z.object({}), onDead: 'gone' }) };`,
      /do not go together: onDead of "a" is "gone", which is no kind\.$/,
    ],
    [
      "takes the name of Millrace's own job",
      `${IMPORTS} export const contracts = { a: defineJob({ payload: z.object({}), aliases: ['millrace.canary'] }) };`,
      /^The contract of "a" in .* takes the name millrace\.canary/,
    ],
    ['waits at its top level', 'export const contracts = await Promise.resolve({});', /has an await at its top level/],
    ['does not parse', 'export const contracts = {', /cannot be read:\n.*contracts\.ts:1: Expected/],
    ['imports what is not there', `import './missing.js';`, /cannot be read:\n.*contracts\.ts:1: Could not resolve/],
  ])('it %s', async (_, text, sentence) => {
    const path = await moduleOf(text);
    expect(() => readContracts(path)).toThrow(sentence);
  });
});

test('schedules beside them are checked as a worker does', async () => {
  const recurring = (field: string) =>
    moduleOf(
      `import * as z from 'zod'; import { defineJob, schedule } from 'millrace/queue';
       export const contracts = { a: defineJob({ payload: z.object({ n: z.number() }) }) };
       export const schedules = [schedule({ name: 'nightly', cron: '30 2 * * *', kind: 'a', payload: { n: 1 }, ${field} })];`,
    );
  expect(readContracts(await recurring(`zone: 'Europe/Berlin'`)).a).toBeDefined();
  const bad = await recurring(`zone: 'Europe/Bärlin'`);
  expect(() => readContracts(bad)).toThrow(
    `The schedules of ${bad} cannot be kept: schedule "nightly": zone must be an IANA time zone such as "Europe/Berlin", not "Europe/Bärlin".`,
  );
  expect(await recurring('payload: {}').then((path) => () => readContracts(path))).toThrow(
    'schedule "nightly": payload: ',
  );
});
