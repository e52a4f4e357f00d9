import { parseArgs } from 'node:util';
import type { Pickup } from '../../functions/queue/pickup.ts';
import { PARAMETERS, type ParameterName, profileOf } from './profile.ts';
import type { SimulationOptions } from './simulate.ts';
import { TRACES, traceOf } from './trace.ts';

const PICKUPS: readonly Pickup[] = ['second', 'instant', 'minute'];

export const USAGE = `npm run simulate -- --trace <trace> [--profile ${PICKUPS.join('|')}] [--for 1h] [--warm-up 3m] [--seed 1] [--json] [--<parameter> <number> …]
npm run simulate -- --table [--write]   the table of docs/simulator.md
npm run simulate -- --check             the same loads on real workers beside it
<trace>: ${TRACES}
<parameter>: ${Object.keys(PARAMETERS).join(', ')}; docs/simulator.md says what they are`;

export interface Arguments {
  readonly does: 'simulate' | 'table' | 'check' | 'help';
  readonly json: boolean;
  readonly write: boolean;
  readonly options: SimulationOptions;
}

const NAMES = Object.keys(PARAMETERS) as ParameterName[];

/** @throws Error that names the flag which cannot be read */
export function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      trace: { type: 'string' },
      profile: { type: 'string', default: 'second' },
      for: { type: 'string' },
      'warm-up': { type: 'string' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      ...Object.fromEntries(NAMES.map((name) => [name, { type: 'string' } as const])),
    },
  });
  const { table, check, help, json, write } = values;
  const does = help ? 'help' : table ? 'table' : check ? 'check' : 'simulate';
  if (does === 'simulate' && values.trace === undefined) throw new Error(`--trace must be given: ${TRACES}`);
  const trace = traceOf(values.trace ?? 'poisson:1');
  const given = values as Partial<Record<ParameterName, string>>;
  const numbers = NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, numberOf(name, given[name])]]));
  return {
    does,
    json,
    write,
    options: {
      trace,
      profile: profileOf(pickupOf(values.profile), Object.fromEntries(numbers)),
      seconds: values.for === undefined ? trace.seconds : secondsOf('for', values.for),
      warmUpSeconds: values['warm-up'] === undefined ? undefined : secondsOf('warm-up', values['warm-up']),
      seed: numberOf('seed', values.seed),
    },
  };
}

function pickupOf(text: string): Pickup {
  const pickup = PICKUPS.find((known) => known === text);
  if (pickup === undefined) throw new Error(`--profile must be ${PICKUPS.join(', ')}, not "${text}"`);
  return pickup;
}

/** Numbers of which there is no half, or none at all. */
const WHOLE = new Set<string>(['slots', 'concurrency', 'attempts', 'database-cores', 'sqs-batch']);

function numberOf(name: string, text: string): number {
  const number = Number(text);
  const least = WHOLE.has(name) ? 1 : 0;
  if (text.trim() !== '' && number >= least && (!WHOLE.has(name) || Number.isInteger(number))) return number;
  throw new Error(`--${name} must be a ${WHOLE.has(name) ? 'whole ' : ''}number from ${least}, not "${text}"`);
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 };

function secondsOf(flag: string, text: string): number {
  const [, number, unit] = /^([\d.]+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(number) * UNITS[unit as keyof typeof UNITS];
  if (seconds >= 0) return seconds;
  throw new Error(`--${flag} must be a time such as 90s, 30m, 1h or 7d, not "${text}"`);
}
