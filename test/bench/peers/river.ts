import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { count } from '../systems/count.ts';
import { startFleet } from '../systems/fleet.ts';
import type { System } from '../systems/system.ts';
import { riverProducer } from './river-producer.ts';

const exec = promisify(execFile);

const SOURCE = fileURLToPath(new URL('./river/', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./node_modules/.cache/river', import.meta.url));
/** Of a worker process. River has no default of its own: the pool is the application's. */
const CONNECTIONS = 20;
const MILLISECOND = 1_000_000;

/** The hour: the default of its `Config.RescueStuckJobsAfter`. */
const LESS = 'no lease (a job whose worker has died waits for an hour) and no fence; jobs run in Go, not in Node';

interface Settings {
  readonly maxWorkers: number;
  /** Nanoseconds, as the next one; 0: River’s default. */
  readonly fetchCooldown: number;
  readonly fetchPollInterval: number;
  readonly connections: number;
}

/** River, if this machine can build it; else why not. */
export async function river(): Promise<readonly System[] | string> {
  try {
    await mkdir(fileURLToPath(new URL('./node_modules/.cache/', import.meta.url)), { recursive: true });
    await exec('go', ['build', '-o', PROGRAM, '.'], { cwd: SOURCE });
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    return code === 'ENOENT' ? 'River is left out: there is no `go` here' : `River is left out: ${message}`;
  }
  const modules = await readFile(`${SOURCE}go.mod`, 'utf8');
  const version = /riverqueue\/river v(\S+)/.exec(modules)?.[1] ?? 'unknown';
  return [
    system(
      'River, best',
      version,
      `MaxWorkers 2000, FetchCooldown 2 ms, FetchPollInterval 20 ms (its own \`river bench\`); ${CONNECTIONS} connections`,
      {
        maxWorkers: 2000,
        fetchCooldown: 2 * MILLISECOND,
        fetchPollInterval: 20 * MILLISECOND,
        connections: CONNECTIONS,
      },
    ),
    system('River, defaults', version, `MaxWorkers 100 (its README); ${CONNECTIONS} connections`, {
      maxWorkers: 100,
      fetchCooldown: 0,
      fetchPollInterval: 0,
      connections: CONNECTIONS,
    }),
  ];
}

function system(name: string, version: string, settings: string, values: Settings): System {
  return {
    name,
    version,
    settings,
    less: LESS,
    storage: 'river',
    install: async (databaseUrl) => {
      await exec(PROGRAM, ['install', databaseUrl]);
    },
    producer: (databaseUrl, connections) => riverProducer(PROGRAM, databaseUrl, connections),
    workers: (databaseUrl, processes, work) =>
      startFleet({ file: PROGRAM, args: [] }, processes, { databaseUrl, work, settings: values }),
    unsettled: (databaseUrl) => count(databaseUrl, 'river_job', "state <> 'completed'"),
    atOnce: (maxWorkers) =>
      system(name, version, `${settings}, but MaxWorkers ${maxWorkers}`, { ...values, maxWorkers }),
  };
}
