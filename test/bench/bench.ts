/**
 * `npm run bench [-- --quick] [--only NAME[,NAME]] [--rounds N] [--json FILE] [--minutes N] [--profile DIR]`: the rows of
 * rows/index.ts, one after the other, on one throwaway Postgres. Markdown on stdout, its last line the same as JSON; what goes on, on
 * stderr.
 * Ends with 1 if a row fails to run. A goal that is missed is said, and fails nothing. docs/benchmarks.md has the rest.
 */
import { writeFile } from 'node:fs/promises';
import { machine } from './frame/machine.ts';
import { chosen, optionsOf } from './frame/options.ts';
import type { Result } from './frame/row.ts';
import { startServer } from './frame/server.ts';
import { section } from './frame/table.ts';
import { longestStatements } from './profile/statements.ts';
import { rows } from './rows/index.ts';
import { everything } from './systems/index.ts';

const args = process.argv.slice(2);
const options = optionsOf(args);
const toRun = chosen(rows, options);
// The worker processes read it (systems/fleet.ts).
if (options.profile !== undefined) process.env.BENCH_PROFILE = options.profile;

const { systems, leftOut } = await everything();
// Most of our statements are inside functions.
const profiled = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' };
const server = await startServer({ extra: options.profile === undefined ? {} : profiled, quick: options.quick });
// The server would end with this process, but its data would stay.
let ending = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    ending = true;
    server.stop().finally(() => process.exit(130));
  });
}
try {
  const about = {
    date: `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    ...(options.quick ? { sizes: 'small, whatever the rows say of theirs: it shows that they run, and no more' } : {}),
    rounds: String(options.rounds),
    ...(await machine()),
    postgres: server.version,
    settings: pairs(server.settings).join(', '),
  };
  const versions = systems.map(({ name, version, settings }) => `${name} (${version}): ${settings}`);
  print([...Object.entries(about).map(([name, value]) => `${name}: ${value}`), ...versions, ...leftOut].map(item));
  const results: Record<string, Result> = {};
  const failures: string[] = [];
  for (const row of toRun) {
    const say = (sentence: string) => console.error(`${row.name}: ${sentence}`);
    const begun = performance.now();
    try {
      const { quick, rounds, minutes } = options;
      results[row.name] = await row.run({ quick, rounds, minutes, server, say });
      print([section(row, results[row.name] as Result)]);
    } catch (error) {
      // Its database has been taken from it.
      if (ending) break;
      failures.push(row.name);
      print([`## ${row.name}`, '', 'It failed to run.']);
      console.error(error);
    }
    say(`took ${Math.round((performance.now() - begun) / 1000)} s`);
  }
  if (!ending) await conclude(JSON.stringify({ about, systems: systems.map(described), leftOut, results, failures }));
  if (failures.length > 0) process.exitCode = 1;
} finally {
  await server.stop();
}

async function conclude(json: string): Promise<void> {
  if (options.json !== undefined) await writeFile(options.json, `${json}\n`);
  console.log(json);
  if (options.profile !== undefined) console.error((await longestStatements(server.url)).join('\n'));
}

function described({ name, version, settings, less }: (typeof systems)[number]) {
  return { name, version, settings, less };
}

function pairs(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => `${name} ${value}`);
}

function item(text: string): string {
  return `- ${text}`;
}

function print(lines: readonly string[]): void {
  console.log(`${lines.join('\n')}\n`);
}
