import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Pickup } from '../../functions/queue/pickup.ts';
import { readArguments } from './arguments.ts';
import { PARAMETERS } from './profile.ts';
import { count, money, seconds } from './report.ts';
import { resultOf } from './result.ts';
import type { SimulationOptions } from './simulate.ts';
import { type SqsSimulated, simulateSqs } from './sqs.ts';

export const TABLE_FILE = fileURLToPath(new URL('../../docs/simulator.md', import.meta.url));
export const TABLE = /(<!-- table: npm run simulate -- --table --write -->\n)[\s\S]*?(\n<!-- end of table -->)/;

export const PARAMETER_LIST = /(<!-- parameters -->\n)[\s\S]*?(\n<!-- end of parameters -->)/;

/** A load, and the fleet that it is given: as many runs as its peak needs at two thirds of what they can. */
interface Load {
  readonly name: string;
  readonly flags: string;
  readonly pickups: readonly Pickup[];
  /** Takes seconds to be simulated. */
  readonly large?: true;
}

const ALL = ['instant', 'minute', 'second'] as const;

/** Loads of 100 ms jobs. The large ones are looked at for shorter, so that all of it takes some seconds. */
export const LOADS: readonly Load[] = [
  { name: '10 jobs a day', flags: '--trace day:10 --for 4d', pickups: ALL },
  { name: '10,000 jobs a day', flags: '--trace day:10000', pickups: ALL },
  { name: '1 job/s', flags: '--trace poisson:1', pickups: ALL },
  { name: '10 jobs/s', flags: '--trace poisson:10', pickups: ['instant', 'second'] },
  { name: '10,000 at once each hour', flags: '--trace burst:10000@3600 --for 2h --slots 10', pickups: ALL },
  { name: '1 million a day, day and night', flags: '--trace day:1000000', pickups: ['second'], large: true },
  { name: '100 jobs/s', flags: '--trace poisson:100 --for 10m --slots 3', pickups: ['second'] },
  { name: '1,000 jobs/s', flags: '--trace poisson:1000 --for 1m --slots 20', pickups: ['second'] },
  {
    name: '10,000 jobs/s',
    flags:
      '--trace poisson:10000 --warm-up 75s --for 10s --slots 40 --concurrency 50 --memory 1024 --database-cores 8 --database-connections 800 --enqueue-ms 0.05',
    pickups: ['second'],
    large: true,
  },
];

const HEAD = [
  'load',
  'pickup',
  'start p50',
  'start p99',
  'runs at most',
  'GiB-s a million',
  'statements/s',
  'database cores',
  '$ a month',
  '$ a million',
  'SQS + Lambda: start p50',
  'p99',
  '$ a month',
  '$ a million',
];

/** As Markdown. The same each time. */
export function tableOf(loads: readonly Load[] = LOADS): string {
  const rows = loads.flatMap((load) => {
    const sqs = simulateSqs(optionsOf(load, 'second'));
    return load.pickups.map((pickup) => rowOf(load, pickup, sqs));
  });
  return [HEAD, HEAD.map((_, at) => (at < 2 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function optionsOf({ flags }: Load, pickup: Pickup): SimulationOptions {
  return readArguments([...flags.split(' '), '--profile', pickup]).options;
}

function rowOf(load: Load, pickup: Pickup, there: SqsSimulated): string[] {
  const options = optionsOf(load, pickup);
  const { pickupSeconds, workers, jobs, statements, database, dollars, sqs } = resultOf(options, there);
  const few = jobs.completed / options.seconds < 0.1;
  return [
    load.name,
    `\`${pickup}\``,
    seconds(pickupSeconds.p50),
    seconds(pickupSeconds.p99),
    count(workers.most),
    few ? '–' : count((workers.gibibyteSeconds / jobs.completed) * 1_000_000),
    statements.aSecond.toFixed(1),
    database.busiestCores.toFixed(database.busiestCores < 0.1 ? 3 : 1),
    money(dollars.aMonth),
    few ? '–' : money(dollars.aMillion),
    seconds(sqs.pickupSeconds.p50),
    seconds(sqs.pickupSeconds.p99),
    money(sqs.dollars.aMonth),
    few ? '–' : money(sqs.dollars.aMillion),
  ];
}

/** The flags, as Markdown. */
export function parametersOf(): string {
  const rows = Object.entries(PARAMETERS).map(([name, { value, what }]) => `| \`--${name}\` | ${value} | ${what} |`);
  return ['| flag | default | what it is |', '| --- | --: | --- |', ...rows].join('\n');
}

/** Puts both where docs/simulator.md has them. */
export async function writeTable(): Promise<void> {
  let text = await readFile(TABLE_FILE, 'utf8');
  for (const [place, part] of [
    [TABLE, tableOf()],
    [PARAMETER_LIST, parametersOf()],
  ] as const) {
    if (!place.test(text)) throw new Error(`${TABLE_FILE} has no place for what is to be written: ${place.source}`);
    text = text.replace(place, (_, before, after) => `${before}\n${part}\n${after}`);
  }
  await writeFile(TABLE_FILE, text);
}
