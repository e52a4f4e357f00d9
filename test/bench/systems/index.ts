import { installPeers } from './install-peers.ts';
import { millrace, millraceDefaults } from './millrace.ts';
import { millraceSql } from './millrace-sql.ts';
import { rawSql } from './raw-sql.ts';
import type { System } from './system.ts';

interface All {
  readonly systems: readonly System[];
  /** Sentences. */
  readonly leftOut: readonly string[];
}

let all: Promise<All> | undefined;

/** All that can be measured here, ours first, and why others cannot. */
export function everything(): Promise<All> {
  all ??= load();
  return all;
}

async function load(): Promise<All> {
  await installPeers();
  // Not by its name: the compiler would ask for packages that are there only once a benchmark has run.
  const module = new URL('../peers/index.ts', import.meta.url).href;
  const { peers } = (await import(module)) as { peers(): Promise<All> };
  const { systems, leftOut } = await peers();
  return { systems: [millrace, millraceDefaults, millraceSql, rawSql, ...systems], leftOut };
}

async function systems(): Promise<readonly System[]> {
  return (await everything()).systems;
}

/** Those of these names that are here, in the order of the names. */
export async function systemsNamed(...names: readonly string[]): Promise<readonly System[]> {
  const here = await systems();
  return names.flatMap((name) => here.filter((system) => system.name === name));
}

/** @throws Error for a name that no system here has */
export async function systemNamed(name: string): Promise<System> {
  const [found] = await systemsNamed(name);
  if (!found) throw new Error(`there is no system "${name}" here`);
  return found;
}
