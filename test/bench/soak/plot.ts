/**
 * `node test/bench/soak/plot.ts FILE… [--into FOLDER]`: draws what `npm run bench -- --only soak --json FILE` has measured.
 * Soaks may come from one file or many; of two of the same system the later file's is drawn. Writes soak.svg and
 * soak-pinned.svg into the folder, by default docs/benchmarks.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { svg } from '../plot/chart.ts';
import { Soak } from './series.ts';
import { soakChart } from './soak-chart.ts';

const Output = z.object({
  about: z.record(z.string(), z.string()),
  results: z.record(z.string(), z.object({ series: z.unknown() })),
});

interface Drawn {
  readonly soak: Soak;
  /** On what it was measured. */
  readonly note: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { into: { type: 'string', default: 'docs/benchmarks' } },
});
const soaks = new Map<string, Drawn>();
for (const file of positionals) {
  const { about, results } = Output.parse(JSON.parse(await readFile(file, 'utf8')));
  for (const [name, { series }] of Object.entries(results)) {
    if (name.startsWith('soak-')) soaks.set(name, { soak: Soak.parse(series), note: noteOf(about) });
  }
}
await mkdir(values.into, { recursive: true });
for (const pinned of [false, true]) {
  const chosen = [...soaks.values()].filter(({ soak }) => soak.pinned === pinned).sort(oursFirst);
  if (chosen.length === 0) continue;
  const file = join(values.into, pinned ? 'soak-pinned.svg' : 'soak.svg');
  const notes = [...new Set(chosen.map(({ note }) => note))];
  const charted = chosen.map(({ soak }) => soak);
  await writeFile(file, svg(soakChart(charted, notes)));
  console.log(file);
}

/** So that a system has the same colour in every image, in whatever order the files are named. */
function oursFirst({ soak: one }: Drawn, { soak: other }: Drawn): number {
  const ours = ({ system }: Soak) => Number(system === 'Millrace');
  return ours(other) - ours(one) || one.system.localeCompare(other.system);
}

/** On what it was measured: files of several machines get a line each. */
function noteOf({ cpu, cores, memory, postgres, node, date }: Record<string, string>): string {
  return `${cpu}, ${cores} cores, ${memory}; Postgres ${postgres}, Node ${node}; ${date?.slice(0, 10)}`;
}
