import type pg from 'pg';
import type { Bench, Cell, Goal, Spread } from '../frame/row.ts';
import { percentile, spreadOf } from '../frame/spread.ts';
import { type Explained, explained } from './explained.ts';
import type { Group, Variant } from './groups.ts';

/** Calls of each group in each round, at least; every variant is called once. */
const CALLS = 300;

/** What the calls of a group came to: the spread is that of the rounds. */
export interface Line {
  readonly group: Group;
  readonly variants: number;
  readonly p50: Spread;
  readonly p99: Spread;
  /** Of the variant whose median is the longest. */
  readonly worst: { readonly what: string; readonly ms: number };
  /** Of any call. */
  readonly pages: number;
}

export const COLUMNS = [
  'read',
  'variants',
  'p50, ms',
  'p99, ms',
  'the slowest variant',
  'its p50, ms',
  'pages at most',
];

export function cellsOf({ group, variants, p50, p99, worst, pages }: Line): Cell[] {
  return [group.name, variants, p50, p99, worst.what, worst.ms, pages];
}

export function goalsOf(lines: readonly Line[]): Goal[] {
  return lines.flatMap(({ group, p99 }) =>
    group.atMostMs === undefined
      ? []
      : [{ of: `${group.name}, p99 of the database's time`, value: p99.median, atMost: group.atMostMs, unit: 'ms' }],
  );
}

/** The groups in turns, each once a round. */
export async function measure(
  { rounds, quick, say }: Pick<Bench, 'rounds' | 'quick' | 'say'>,
  client: pg.Client,
  groups: readonly Group[],
): Promise<Line[]> {
  const measured = new Map<Group, Map<Variant, Explained>[][]>(groups.map((group) => [group, []]));
  for (let round = 0; round < rounds; round++) {
    for (const group of groups) {
      say(`round ${round + 1} of ${rounds}: ${group.name}`);
      measured.get(group)?.push(await passes(client, group, quick ? 1 : CALLS));
    }
  }
  return groups.map((group) => lineOf(group, measured.get(group) ?? []));
}

/** All variants, again and again; the first time does not count, since plans are made then. */
async function passes(client: pg.Client, { variants }: Group, calls: number): Promise<Map<Variant, Explained>[]> {
  const made: Map<Variant, Explained>[] = [];
  for (let pass = -1; pass < calls / variants.length; pass++) {
    const costs = new Map<Variant, Explained>();
    for (const variant of variants) costs.set(variant, await explained(client, variant.read));
    if (pass >= 0) made.push(costs);
  }
  return made;
}

function lineOf(group: Group, rounds: readonly (readonly Map<Variant, Explained>[])[]): Line {
  const ofRounds = rounds.map((made) => made.flatMap((costs) => [...costs.values()].map(({ ms }) => ms)));
  const all = rounds.flat();
  const medians = group.variants.map((variant) => ({
    what: variant.what,
    ms: percentile(
      all.map((costs) => (costs.get(variant) as Explained).ms),
      0.5,
    ),
  }));
  return {
    group,
    variants: group.variants.length,
    p50: spreadOf(ofRounds.map((times) => percentile(times, 0.5))),
    p99: spreadOf(ofRounds.map((times) => percentile(times, 0.99))),
    worst: medians.reduce((worst, one) => (one.ms > worst.ms ? one : worst)),
    pages: Math.max(...all.flatMap((costs) => [...costs.values()].map(({ pages }) => pages))),
  };
}
