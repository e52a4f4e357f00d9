/**
 * `node test/bench/load.ts [--quick]`: how long the bundle of each API function takes to load, in processes of their own,
 * beside a bare bundle of what all of them stand on: middy, pg and zod. A cold start waits for this.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { NODE_OPTIONS } from '../../lib/functions/node-options.ts';
import { API_HANDLERS, bareBundle, handlerBundle } from '../support/handler-bundle.ts';

const { quick } = parseArgs({ options: { quick: { type: 'boolean', default: false } } }).values;
const RUNS = quick ? 1 : 25;
const folder = mkdtempSync(join(tmpdir(), 'millrace-load-'));
try {
  const bundles = [
    { name: 'middy + pg + zod', file: bareBundle(folder) },
    ...API_HANDLERS.map((name) => ({ name, file: handlerBundle(name, folder) })),
  ];
  // In turns, so that what slows the machine down slows all of them.
  const times = new Map<string, number[]>(bundles.map(({ name }) => [name, []]));
  for (let run = 0; run < RUNS; run++) {
    for (const { name, file } of bundles) times.get(name)?.push(loadMs(file));
  }
  const bare = median(times.get('middy + pg + zod') ?? []);
  for (const { name, file } of bundles) {
    const ms = median(times.get(name) ?? []);
    const kilobytes = (statSync(file).size / 1000).toFixed(0);
    console.log(
      `${name.padEnd(18)} ${kilobytes.padStart(5)} kB ${ms.toFixed(1).padStart(7)} ms  ${(ms / bare).toFixed(2)} × bare`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function loadMs(file: string): number {
  const source = `const begun = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(performance.now() - begun); process.exit()`;
  const env = { NODE_OPTIONS, DATABASE_URL: 'postgres://127.0.0.1/none' };
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', source], { env, encoding: 'utf8' }));
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
