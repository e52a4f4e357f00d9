import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Row } from './row.ts';

export interface Options {
  readonly quick: boolean;
  /** Names of rows, or what names begin with up to a hyphen; none: all but the long ones. */
  readonly only: readonly string[];
  readonly rounds: number;
  /** A file. */
  readonly json?: string | undefined;
  /** A folder for CPU profiles of the workers. */
  readonly profile?: string | undefined;
  /** Of a soak. */
  readonly minutes?: number | undefined;
}

export const FLAGS = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true, default: [] as string[] },
  rounds: { type: 'string' },
  json: { type: 'string' },
  profile: { type: 'string' },
  minutes: { type: 'string' },
} as const satisfies ParseArgsOptionsConfig;

/** @throws TypeError for what it does not know, RangeError for a number that is none */
export function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: FLAGS,
  });
  return {
    quick: values.quick,
    only: values.only.flatMap((names) => names.split(',')).filter((name) => name !== ''),
    rounds: positive('rounds', values.rounds) ?? (values.quick ? 1 : 5),
    json: values.json,
    profile: values.profile,
    minutes: positive('minutes', values.minutes),
  };
}

/** @throws RangeError for a name that no row has */
export function chosen<One extends Pick<Row, 'name' | 'long' | 'part'>>(
  rows: readonly One[],
  { only, quick }: Options,
): One[] {
  if (only.length === 0) return rows.filter(({ long, part }) => !part && (quick || !long));
  const isNamed = (row: One, name: string) => row.name === name || row.name.startsWith(`${name}-`);
  const strange = only.filter((name) => !rows.some((row) => isNamed(row, name)));
  if (strange.length > 0) {
    throw new RangeError(`there is no row ${strange.join(', ')}; there are ${rows.map(({ name }) => name).join(', ')}`);
  }
  return rows.filter((row) => only.some((name) => isNamed(row, name)));
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`--${name} must be a number above 0, not ${text}`);
  return value;
}
